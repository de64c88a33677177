// What requests are made from: accounts, ids, addresses. Made before the traffic begins and never changed, so that the same
// seed makes the same requests.
import { makeAudio } from '../support/audio.ts';
import { makeJpeg } from '../support/photo.ts';
import { credentialsOf, encodeMultipart, type FormPart } from './encode.ts';
import { type Answer, send } from './send.ts';
import type { Account, Site } from './site.ts';

export interface World extends Site {
  /** Records that traffic may change and delete; those of the reporter among them. */
  records: number[];
  /** A released record that no traffic changes. */
  frozenRecord: number;
  /** Paths below /api/v2 with a cursor, with a signature or without; ETags. */
  nexts: string[];
  media: string[];
  tags: string[];
  operations: Operation[];
}

/** Of the service's own description, what requests are made from. */
export interface Operation {
  operationId: string;
  method: string;
  path: string;
  parameters: Field[];
  /** null: takes no body. */
  form: Field[] | null;
}

export interface Field {
  name: string;
  in: 'query' | 'header' | 'path' | 'form';
  required: boolean;
  schema: { [name: string]: unknown };
}

const hosts = ['localhost', 'rp.localhost', 'he.localhost', 'by.localhost', 'HE.localhost', 'localhost.'] as const;
/** All of them lead to some tenant. */
export const tenantHosts: readonly string[] = hosts;

/** Reports a few records and reads the service's description. */
export async function exploreWorld(site: Site, port: number): Promise<World> {
  const ask = async (method: string, path: string, account: Account | null, parts: FormPart[] = []): Promise<Answer> => {
    const headers = [['Host', 'localhost'] as const, ...credentialsOf(account)];
    if (parts.length > 0) headers.push(['Content-Type', 'multipart/form-data; boundary=warmup']);
    const body = parts.length > 0 && { body: encodeMultipart(parts, 'warmup') };
    const answer = await send(port, { method, target: `/api/v2${path}`, headers, patienceMs: 30_000, ...body });
    if ('code' in answer || answer.status >= 400) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
    return answer;
  };
  const { reporter, neighbour, expert } = site.roles;
  const photo = await makeJpeg({ width: 320, height: 240, personal: true });
  const records: number[] = [];
  for (let i = 0; i < 24; i++) {
    const fields: Record<string, string | Buffer> = {
      art: String(20 + i),
      lat: String(5_540_000 + 100 * i),
      lon: '420000',
      datum: '1.5.2024',
      bereich: i % 2 === 0 ? 'oeffentlich' : 'privat',
      bemerkung: 'vor dem Sturm & <ruhig>',
      ...(i % 8 === 0 && { foto: photo }),
      ...(i % 8 === 2 && { audio: makeAudio('mp3', { tags: true }) }),
    };
    const parts = Object.entries(fields).map(([name, content]) => ({ name, content }));
    const answer = await ask('POST', '/sichtbeobachtungen', i % 3 === 0 ? neighbour : reporter, parts);
    records.push(rowsOf(answer)[0]?.id as number);
  }
  for (const id of records.slice(0, 6)) {
    if (records.indexOf(id) % 2 === 0)
      await ask('PUT', `/sichtbeobachtungen/${id}`, expert, [{ name: 'status', content: 'freigegeben' }]);
  }
  const [frozen, ...demo] = rowsOf(await ask('GET', '/sichtbeobachtungen?limit=40&restrict=id&datum_bis=31.12.2023', null));
  const media: string[] = [];
  for (const id of records.slice(0, 12)) {
    const detail = (await ask('GET', `/sichtbeobachtungen/${id}`, expert).catch(() => null))?.body.toString() ?? '';
    media.push(...[...detail.matchAll(/\/api\/v2(\/medien\/[^"]+)/g)].map(([, path = '']) => path));
  }
  const nexts: string[] = [];
  const tags: string[] = [];
  const lists = ['sichtbeobachtungen?limit=3', 'sichtbeobachtungen?limit=5&is_animal=true', 'arten?limit=5', 'protokoll?limit=7'];
  for (const path of lists) {
    const answer = await ask('GET', `/${path}`, null);
    nexts.push(...[...answer.body.toString().matchAll(/"next":"[^"]*?\/api\/v2([^"]+)"/g)].map(([, next = '']) => next));
    tags.push(answer.header('etag') ?? '');
  }
  const description = JSON.parse((await ask('GET', '/openapi.json', null)).body.toString());
  return {
    ...site,
    records: [...records, ...demo.map(({ id }) => id as number)],
    frozenRecord: frozen?.id as number,
    nexts,
    media,
    tags: tags.filter((tag) => tag !== ''),
    operations: listOperations(description),
  };
}

function rowsOf(answer: Answer): { [name: string]: unknown }[] {
  return JSON.parse(answer.body.toString()).result;
}

interface Description {
  paths: Record<
    string,
    Record<
      string,
      {
        operationId: string;
        parameters: Field[];
        requestBody?: {
          content: Record<string, { schema: { properties: Record<string, Field['schema']>; required?: string[] } }>;
        };
      }
    >
  >;
}

function listOperations({ paths }: Description): Operation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, parameters, requestBody }]) => {
      const body = requestBody?.content['multipart/form-data']?.schema;
      const form = Object.entries(body?.properties ?? {}).map(
        ([name, schema]): Field => ({ name, in: 'form', required: body?.required?.includes(name) ?? false, schema }),
      );
      return { operationId, method: method.toUpperCase(), path, parameters, form: body ? form : null };
    }),
  );
}
