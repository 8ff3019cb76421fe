import { z } from 'zod'
import { absentMeans, DEFAULTS } from './defaults.ts'
import { endpointUrl } from './endpoint-url.ts'
import {
  duration,
  gateway,
  headerList,
  headerPair,
  label,
  positiveDuration,
  secretKeyRef,
  uniqueHeaders,
} from './primitives.ts'
import { atomic, mapByName, withRules } from './rules.ts'

const ABSENT = DEFAULTS.modelBackend

const PROVIDER = {
  OpenAI: 'any server that speaks the OpenAI API (vLLM, SGLang, Ollama, TGI, OpenAI itself)',
  Anthropic: 'the Anthropic Messages API',
}
const PROVIDERS = Object.keys(PROVIDER) as ['OpenAI', 'Anthropic']

const endpoint = z
  .object({
    url: endpointUrl.describe(
      'Base URL of the server. OpenAI: what its SDK calls the base URL, such as https://api.openai.com/v1; without a ' +
        'path, /v1 is meant. Anthropic: the address without /v1; a trailing /v1 is accepted. A query is kept.',
    ),
  })
  .describe('Where the server is.')

/** Headers that frame a message or belong to one connection: undici refuses them, or the body no longer fits. */
const FRAMING = [
  'connection',
  'content-length',
  'expect',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]

const upstreamHeader = withRules(headerPair, [
  {
    cel: `!(self.name.lowerAscii() in [${FRAMING.map(name => `'${name}'`).join(', ')}])`,
    message: `must not be one that belongs to the connection: ${FRAMING.join(', ')}`,
    path: ['name'],
    holds: ({ name }) => !FRAMING.includes(name.toLowerCase()),
  },
])

const credential = withRules(
  z
    .object({
      name: label.describe('Name of the credential, shown in status and logs instead of its value.'),
      type: z.enum(['APIKey']).describe('APIKey: a key sent in the header that the provider expects.'),
      apiKey: z.object({ secretRef: secretKeyRef }).optional().describe('The key. Required when type is APIKey.'),
      weight: z
        .int()
        .min(0)
        .max(1000)
        .optional()
        .describe(
          `Share of the requests that use this credential; 0 keeps it for failures of the others. ${absentMeans(ABSENT.credentialWeight)}`,
        ),
    })
    .describe('One credential.'),
  [
    {
      cel: "self.type != 'APIKey' || has(self.apiKey)",
      message: 'is required when type is APIKey',
      path: ['apiKey'],
      holds: value => value.type !== 'APIKey' || value.apiKey !== undefined,
    },
  ],
)

const timeouts = z
  .object({
    connect: positiveDuration
      .optional()
      .describe(`Until the TCP and TLS handshakes are done. ${absentMeans(ABSENT.timeouts.connect)}`),
    firstByte: positiveDuration
      .optional()
      .describe(
        `Streams only: from the request sent to the first byte of the response. ${absentMeans(ABSENT.timeouts.firstByte)}`,
      ),
    idle: positiveDuration
      .optional()
      .describe(`Streams only: between two pieces of the response. ${absentMeans(ABSENT.timeouts.idle)}`),
    total: positiveDuration
      .optional()
      .describe(`From the start of an attempt to the end of its response. ${absentMeans(ABSENT.timeouts.total)}`),
  })
  .describe('How long the gateway waits for this backend.')

/** One upstream that serves models. */
export const modelBackendSpec = withRules(
  z.object({
    gateway: gateway.optional(),
    provider: z
      .enum(PROVIDERS)
      .describe(`What the server speaks. ${PROVIDERS.map(name => `${name}: ${PROVIDER[name]}`).join('. ')}.`),
    endpoint,
    headers: headerList(upstreamHeader)
      .optional()
      .describe(
        'Headers added to every request to this backend; they replace headers of the same name from the client.',
      ),
    credentials: mapByName(z.array(credential).max(16))
      .optional()
      .describe(
        'Credentials of this backend, chosen by weight for each request. One that is refused (401, 403, 429) is followed ' +
          `by another before the next backend is tried. ${absentMeans('no credential')}`,
      ),
    concurrency: z
      .object({
        max: z
          .int()
          .min(1)
          .max(100_000)
          .optional()
          .describe(`Most requests at a time. ${absentMeans(ABSENT.concurrencyMax)}`),
      })
      .optional()
      .describe('How many requests the backend is sent at a time.'),
    queue: z
      .object({
        depth: z
          .int()
          .min(0)
          .max(100_000)
          .optional()
          .describe(
            `Most requests that wait for a slot, in each gateway; 0 refuses at once. ${absentMeans(ABSENT.queueDepth)}`,
          ),
      })
      .optional()
      .describe('Where requests wait while all slots are taken.'),
    timeouts: timeouts.optional(),
    drain: z
      .object({
        timeout: duration
          .optional()
          .describe(
            `How long requests may go on after the backend is removed or drained. ${absentMeans('timeouts.total')}`,
          ),
      })
      .optional()
      .describe('How the backend is taken out of service.'),
    allowedNamespaces: atomic(z.array(label.describe('Name of a namespace.')).max(64))
      .optional()
      .describe(
        `Namespaces besides its own whose routes may refer to this backend. ${absentMeans(ABSENT.allowedNamespaces)}`,
      ),
  }),
  [uniqueHeaders('headers')],
)

export type ModelBackendSpec = z.output<typeof modelBackendSpec>
