// Reading /ogc in tests.
import assert from 'node:assert/strict';
import type { Answer, Json, RequestOptions, TestService } from './service.ts';

/** A request below /ogc. */
export const askOgc = (service: TestService, path: string, options: RequestOptions = {}): Promise<Answer> =>
  service.request(`/ogc${path}`, { below: '', ...options });

/** All features of a list, page by page, as `next` says. */
export async function walkOgc(service: TestService, path: string, options: RequestOptions = {}): Promise<Json[]> {
  const features: Json[] = [];
  let next: string | undefined = path;
  for (let pages = 0; next !== undefined; pages++) {
    assert.ok(pages < 200, 'the pages end');
    const { status, json, text } = await askOgc(service, next, options);
    assert.equal(status, 200, text);
    assert.equal(json.numberReturned, json.features.length);
    features.push(...json.features);
    const link = json.links.find(({ rel }: Json) => rel === 'next');
    next = link?.href.slice(link.href.indexOf('/ogc') + 4);
  }
  return features;
}

export const idsOf = (features: readonly Json[]) => features.map(({ id }) => id);
export const sorted = (ids: readonly (number | string)[]) => [...ids].sort((a, b) => (a < b ? -1 : 1));
