import { formatProblem } from '../operator/files/problem.ts'
import { FileSource } from '../operator/files/source.ts'
import { coloursFor } from './colour.ts'
import { type Input, UsageError } from './command.ts'
import { EMPTY, examine } from './examine.ts'
import { plural } from './words.ts'

/** `weir validate`: what `weir run` would refuse, without running anything. */
export async function validate(input: Input): Promise<number> {
  const files = input.texts('file')
  if (files.length === 0) throw new UsageError('name the files or folders to check with -f')

  const loaded = new FileSource(files).load()
  const { errors, warnings } = examine(loaded, loaded.resources, { published: EMPTY, anonymousFallback: true })
  const colours = coloursFor(process.stdout)
  const lines = [
    ...errors.map(problem => formatProblem(problem)),
    ...warnings.map(problem =>
      formatProblem({ ...problem, message: `${colours.yellow('warning:')} ${problem.message}` }),
    ),
  ]
  const objects = plural(loaded.objects.size, 'object')
  if (errors.length > 0) lines.push(colours.red(plural(errors.length, 'problem')))
  else lines.push(colours.green(`${objects} ${loaded.objects.size === 1 ? 'is' : 'are'} valid`))
  process.stdout.write(`${lines.join('\n')}\n`)
  return errors.length > 0 ? 1 : 0
}
