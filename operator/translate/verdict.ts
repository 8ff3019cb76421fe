import type { Findings } from './findings.ts'
import type { Condition, Verdict, VerdictProblem } from './types.ts'

/** Most problems that a condition's message spells out; all of them stand in the verdict. */
const MAX_SPELT_OUT = 5

/** What the findings about an object come to. */
export function verdictOf(findings: Findings): Verdict {
  const { kind, namespace, name, uid, generation, served, invalid, conflicted, unresolved, partial } = findings
  const refused = [...invalid, ...conflicted]
  return {
    kind,
    namespace,
    name,
    uid,
    generation,
    ...(served !== undefined && { servedGeneration: served }),
    conditions: [accepted(findings, refused), resolved(findings, refused), ...partiallyInvalid(partial)],
    problems: [...refused, ...unresolved, ...partial],
  }
}

function accepted({ kind, invalid, generation, served }: Findings, refused: VerdictProblem[]): Condition {
  if (refused.length === 0) {
    return { type: 'Accepted', status: 'True', reason: 'Accepted', message: 'The object is valid.' }
  }
  const rest =
    served === undefined
      ? 'Nothing of this object is served.'
      : served === generation
        ? 'What was valid before stays in service.'
        : `Generation ${served} stays in service until this is corrected.`
  const reason = invalid.length > 0 ? 'Invalid' : 'Conflicted'
  const advice = kind === 'LLMRoute' && reason === 'Conflicted' ? 'Change spec.match here or there. ' : ''
  return { type: 'Accepted', status: 'False', reason, message: `${spellOut(refused)} ${advice}${rest}` }
}

function resolved({ unresolved, served }: Findings, refused: VerdictProblem[]): Condition {
  const type = 'ResolvedRefs'
  const [first] = unresolved
  if (first) return { type, status: 'False', reason: first.reason, message: spellOut(unresolved) }
  if (refused.length > 0 && served === undefined) {
    return { type, status: 'Unknown', reason: 'Pending', message: 'Looked at once the object is accepted.' }
  }
  return { type, status: 'True', reason: 'ResolvedRefs', message: 'Every reference is resolved.' }
}

function partiallyInvalid(partial: VerdictProblem[]): Condition[] {
  const [first] = partial
  return first ? [{ type: 'PartiallyInvalid', status: 'True', reason: first.reason, message: spellOut(partial) }] : []
}

function spellOut(problems: VerdictProblem[]): string {
  const spelt = problems.slice(0, MAX_SPELT_OUT).map(problem => problem.message)
  const rest = problems.length - spelt.length
  const sentences = [...spelt, ...(rest > 0 ? [`${rest} more problems`] : [])]
  return sentences.map(text => (text.endsWith('?') ? text : `${text}.`)).join(' ')
}
