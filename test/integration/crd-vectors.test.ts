import { afterAll, beforeAll, expect, test } from 'vitest'
import { KIND_NAMES } from '../../crds/kinds.ts'
import { VECTORS, type Vector } from '../../crds/vectors.ts'
import { ApiError } from '../../kube/api-error.ts'
import type { KubeClient } from '../../kube/http.ts'
import type { KubeObject } from '../../kube/object.ts'
import { installCrds, resourceOf } from '../cluster/crds.ts'
import { describeWithCluster } from '../cluster/shared.ts'

describeWithCluster('the API server judges as the schemas do', cluster => {
  let client: KubeClient
  let namespace: string

  beforeAll(async () => {
    client = cluster().client()
    await installCrds(cluster())
    namespace = await cluster().createNamespace()
  })

  afterAll(() => client.close())

  const here = (object: Record<string, unknown>): KubeObject => {
    const { metadata, ...rest } = object as unknown as KubeObject
    return { ...rest, metadata: { ...metadata, namespace } }
  }

  /** The server's refusal, or null; nothing is stored but what a transition needs. */
  async function refusal({ kind, object, old }: Vector): Promise<ApiError | null> {
    const resource = resourceOf(kind)
    const strict = { dryRun: true, fieldValidation: 'Strict' } as const
    try {
      if (!old) await client.create(resource, here(object), strict)
      else {
        const { metadata } = await client.create(resource, here(old))
        const { resourceVersion } = metadata
        const next = here(object)
        try {
          await client.replace(resource, { ...next, metadata: { ...next.metadata, resourceVersion } }, strict)
        } finally {
          await client.delete(resource, { namespace, name: metadata.name })
        }
      }
      return null
    } catch (error) {
      if (error instanceof ApiError) return error
      throw error
    }
  }

  test.each(KIND_NAMES)('%s', async kind => {
    const wrong: string[] = []
    for (const vector of VECTORS.filter(each => each.kind === kind)) {
      const refused = await refusal(vector)
      if (vector.valid && refused) wrong.push(`${vector.name}: refused: ${refused.message}`)
      if (!vector.valid && !refused) wrong.push(`${vector.name}: accepted`)
      // 400 is an unknown field (strict decoding), 422 everything that the schema or a rule says.
      if (refused && ![400, 422].includes(refused.status)) wrong.push(`${vector.name}: ${refused.message}`)
    }
    expect(wrong).toEqual([])
  })

  test('kubectl explains every field and prints columns', async () => {
    for (const kind of KIND_NAMES) {
      const text = await cluster().kubectl(['explain', `${resourceOf(kind).plural}.spec`, '--recursive'])
      expect(text).toContain('FIELDS')
      expect(await cluster().kubectl(['explain', `${resourceOf(kind).plural}.spec`])).not.toContain('<no description>')
    }
    await cluster().kubectl(['create', '-f', '-'], {
      input: JSON.stringify(here(VECTORS.find(each => each.valid && each.kind === 'ModelBackend')!.object)),
    })
    expect(await cluster().kubectl(['get', 'weir', '-n', namespace])).toMatch(/NAME +PROVIDER +ENDPOINT +READY/)
  })
})
