import { execFile } from 'node:child_process'
import { access, mkdir, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/**
 * The interpreter of a virtual environment that has exactly these packages, such as `openai==3.57.0`, and what they need.
 * It is made at the first use and kept in the cache folder. Rejects with the reason where there is no Python with venv and
 * pip, or no way to the packages.
 */
export async function pythonWith(packages: readonly string[]): Promise<string> {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache')
  const folder = join(cache, 'weir', 'python', packages.map(each => each.replace('==', '-')).join('_'))
  const python = join(folder, 'bin', 'python')
  const complete = join(folder, 'complete')
  try {
    await access(complete)
    // Still there, and not the remains of a Python that has been upgraded since.
    await run(python, ['-c', 'import sys'])
    return python
  } catch {
    await rm(folder, { recursive: true, force: true })
  }
  await mkdir(folder, { recursive: true })
  await attempt('python3 with venv', 'python3', ['-m', 'venv', folder])
  await attempt('pip', python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages])
  await writeFile(complete, '')
  return python
}

async function attempt(what: string, command: string, args: string[]): Promise<void> {
  try {
    await run(command, args, { timeout: 180_000 })
  } catch (error) {
    const { stderr, stdout, message } = error as Error & { stderr?: string; stdout?: string }
    const lines = (stderr || stdout || message).trim().split('\n')
    throw new Error(`no ${what}: ${lines[lines.length - 1]}`, { cause: error })
  }
}
