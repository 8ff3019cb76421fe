/** The API group of every resource kind. */
export const GROUP = 'weir.dev'

/** The one served and stored version. */
export const VERSION = 'v1alpha1'

/** What `apiVersion` must say. */
export const API_VERSION = `${GROUP}/${VERSION}`

/** Secrets are read only when they carry this label with the value `"true"`. */
export const CREDENTIALS_LABEL = `${GROUP}/credentials`

/** A ModelBackend with this annotation takes no new work; its value is free text that says why. */
export const DRAIN_ANNOTATION = `${GROUP}/drain`
