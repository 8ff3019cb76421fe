import type { Content } from '../operator/translate/types.ts'
import { isLoopback } from './listen.ts'

/** What a person should know about who is served, given what is in service and the host that traffic comes to. */
export function noticesOf({ content }: { content: Content }, host: string): string[] {
  const { tenants } = content
  const notices: string[] = []
  if (tenants.some(tenant => tenant.allNamespaces)) {
    notices.push('there is no LLMTenant, so every caller may use every route')
  }
  if (tenants.length === 0) notices.push('there is no LLMTenant any more, so every caller is refused')
  if (!isLoopback(host) && tenants.some(tenant => tenant.anonymous)) {
    notices.push(`whoever reaches ${host} is served without a key; "weir keys create" makes one`)
  }
  return notices
}
