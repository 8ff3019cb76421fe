// Tests never reach a provider and never pick up a developer's keys or proxies.
for (const name of Object.keys(process.env)) {
  if (/^(OPENAI|ANTHROPIC|GEMINI|GOOGLE|AZURE|AWS|WEIR)_|_PROXY$/i.test(name)) delete process.env[name]
}
