import { defineConfig } from 'vitest/config'

// Two cores: two workers keep the integration tests' child processes from starving each other.
export default defineConfig({
  test: {
    include: ['{cli,crds,demo,kube,operator,dataplane,test}/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    setupFiles: ['test/setup.ts'],
    globalSetup: ['test/cluster/global-setup.ts'],
  },
})
