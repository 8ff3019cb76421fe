import type { Command, Option } from './command.ts'

const ADMIN: Option = {
  type: 'string',
  value: 'URL',
  help: 'admin address of the gateway (default http://127.0.0.1:9090)',
}
const FILE: Option = {
  type: 'string',
  short: 'f',
  multiple: true,
  value: 'FILE|DIR',
  help: 'resources to read, .yaml .yml .json; may be repeated; subfolders are not read',
}

/** Every command with its options. What a command does is loaded when it is run. */
export const COMMANDS: Command[] = [
  {
    name: 'run',
    summary: 'run the gateway on this machine, without Kubernetes',
    description:
      'Serves the resources of the files and follows every change of them. Without -f: a demo model, the providers\n' +
      'whose keys are in OPENAI_API_KEY and ANTHROPIC_API_KEY, and no need for a key of your own.',
    options: {
      file: FILE,
      host: { type: 'string', value: 'HOST', help: 'address to listen on (default 127.0.0.1)' },
      port: { type: 'string', value: 'PORT', help: 'port for traffic (default 8080; 0 takes a free one)' },
      'admin-port': { type: 'string', value: 'PORT', help: 'port for status, metrics, drains (default 9090)' },
    },
    examples: ['weir run', 'weir run -f weir.yaml', 'weir run -f resources/ -f secrets.yaml --port 8000'],
    run: async input => (await import('./run.ts')).run(input),
  },
  {
    name: 'validate',
    summary: 'check resource files',
    description: 'Prints every problem as FILE:LINE:COLUMN and exits with 1 if there is one.',
    options: { file: { ...FILE, help: `${FILE.help}; required` } },
    examples: ['weir validate -f resources/'],
    run: async input => (await import('./validate.ts')).validate(input),
  },
  {
    name: 'status',
    summary: 'show backends and resources of a running gateway',
    description: 'Asks the admin port of a running gateway.',
    options: {
      output: { type: 'string', short: 'o', value: 'json', help: 'print the whole answer as JSON' },
      watch: { type: 'boolean', short: 'w', help: 'ask again every second until interrupted' },
      admin: ADMIN,
    },
    examples: ['weir status', 'weir status --watch', "weir status -o json | jq '.backends'"],
    run: async input => (await import('./status.ts')).status(input),
  },
  {
    name: 'drain',
    summary: 'take a backend out of service without cutting its streams',
    description:
      'The backend gets no new requests; those it has go on until they end or its drain.timeout passes. The drain\n' +
      'lasts until --undo or a restart of the gateway.',
    argument: 'BACKEND',
    options: {
      namespace: { type: 'string', short: 'n', value: 'NAMESPACE', help: 'namespace of the backend (default default)' },
      wait: { type: 'boolean', help: 'wait until nothing uses the backend any more' },
      undo: { type: 'boolean', help: 'put the backend back into service' },
      admin: ADMIN,
    },
    examples: ['weir drain openai --wait', 'weir drain openai --undo'],
    run: async input => (await import('./drain.ts')).drain(input),
  },
  {
    name: 'keys',
    summary: 'make a key for a tenant',
    description: 'Prints a new random key, and the Secret and the LLMTenant that accept it as YAML.',
    argument: 'create',
    options: {
      name: { type: 'string', value: 'NAME', help: 'name of the key, shown instead of its value (default key-1)' },
      tenant: { type: 'string', value: 'NAME', help: 'name of the LLMTenant (default team)' },
      namespace: { type: 'string', short: 'n', value: 'NAMESPACE', help: 'namespace of both (default: not written)' },
    },
    examples: ['weir keys create --tenant team-a > team-a.yaml'],
    run: async input => (await import('./keys.ts')).keys(input),
  },
  {
    name: 'demo',
    summary: 'run only the demo model',
    description:
      'An HTTP server that speaks the OpenAI and the Anthropic API; its replies depend on the request alone.',
    options: {
      host: { type: 'string', value: 'HOST', help: 'address to listen on (default 127.0.0.1)' },
      port: { type: 'string', value: 'PORT', help: 'port (default 8081; 0 takes a free one)' },
    },
    examples: ['weir demo --port 8081'],
    run: async input => (await import('./demo.ts')).demo(input),
  },
]
