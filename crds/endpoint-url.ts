import { z } from 'zod'
import { withRules } from './rules.ts'

const OCTET = '(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])'
const ENDS_IN_NUMBER = '^https?://([^/?:]*[.])?[0-9]+([:/?].*)?$'
const DOTTED_QUAD = `^https?://(${OCTET}[.]){3}${OCTET}([:/?].*)?$`

const ENDS_IN_NUMBER_JS = new RegExp(ENDS_IN_NUMBER)
const DOTTED_QUAD_JS = new RegExp(DOTTED_QUAD)

const FORM = 'an http:// or https:// URL with a host, without user info and fragment'

/**
 * Base URL of an upstream. No user info and no fragment: a credential in a URL would end in logs. What the WHATWG parser
 * refuses beyond the pattern (ports, hosts that look like IPv4 addresses) has a CEL twin.
 */
export const endpointUrl = withRules(
  z
    .string()
    .min(1)
    .max(2048)
    .regex(
      /^https?:\/\/([A-Za-z0-9_][A-Za-z0-9_.-]{0,252}|\[[0-9A-Fa-f:.]{2,45}\])(:[0-9]{1,5})?([/?][!-"$-~]*)?$/,
      `must be ${FORM}`,
    )
    .meta({ form: FORM }),
  [
    {
      cel: `isURL(self) && (url(self).getPort() == '' || int(url(self).getPort()) <= 65535) && (!self.matches('${ENDS_IN_NUMBER}') || self.matches('${DOTTED_QUAD}'))`,
      message: 'must be a valid URL: a port is at most 65535, a host that ends in a number is a whole IPv4 address',
      holds: url => URL.canParse(url) && (!ENDS_IN_NUMBER_JS.test(url) || DOTTED_QUAD_JS.test(url)),
    },
  ],
)
