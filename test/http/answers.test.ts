// What the interface answers, word for word, for a comparison of two checkouts: a change that shall change nothing is shown to.
//
//   ANTWORTEN=../antworten.txt npm test -- test/http/answers.test.ts     in the one checkout writes the file,
//                                                                        in the one beside it compares with it
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { before, describe, it } from 'node:test';
import { listRoutes } from '../../src/http/routes/routes.ts';
import { type Account, accounts, arten } from '../support/catalogue.ts';
import { makeDice } from '../support/dice.ts';
import type { Answer, RequestOptions, TestService } from '../support/service.ts';
import { makeRequests } from '../support/twin-requests.ts';
import { startTwins, type TwinRecord } from '../support/twins.ts';

const path = process.env.ANTWORTEN;
const hosts = ['n.test', 's.test', 'w.test', 'n2.test', 'fremd.test'];
const readers: (Account | null)[] = [null, ...accounts.filter((account) => account !== 'gesperrt')];
const headers = ['content-type', 'location', 'allow', 'cache-control', 'vary', 'www-authenticate', 'content-disposition'];

// What is made at random, or by the clock.
const changing: [pattern: RegExp, name: string][] = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'GUID'],
  [/[0-9a-f]{32}(?=\.[a-z0-9]{2,4}\b)/g, 'MEDIUM'],
  [/cursor=[\w-]+/g, 'cursor=CURSOR'],
  [/(bis|signatur)=[\w-]+/g, '$1=X'],
  [/("token":"|<token>)[\w-]+/g, '$1TOKEN'],
  [/\b\d\d:\d\d:\d\d\b/g, 'ZEIT'],
];
const today = new Intl.DateTimeFormat('de-DE', {
  timeZone: 'Europe/Berlin',
  day: '2-digit',
  month: '2-digit',
  year: 'numeric',
}).format();

function describeAnswer(what: string, { status, headers: sent, text }: Answer): string {
  const shown = headers.flatMap((name) => (sent.has(name) ? `${name}: ${sent.get(name)}` : []));
  for (const name of ['etag', 'retry-after', 'x-request-id']) if (sent.has(name)) shown.push(name);
  const line = changing.reduce((all, [pattern, name]) => all.replace(pattern, name), JSON.stringify([what, status, shown, text]));
  return line.replaceAll(today, 'HEUTE');
}

describe('the answers of the interface', { skip: path === undefined && 'only with ANTWORTEN, the file to compare with' }, () => {
  let service: TestService;
  let records: TwinRecord[];
  const dice = makeDice(11);
  const lines: string[] = [];
  before(async () => {
    if (path === undefined) return;
    const twins = await startTwins(dice);
    await twins.arrange(() => false);
    await twins.settle();
    service = twins.first;
    records = twins.records;
  });
  const ask = async (address: string, options: RequestOptions = {}): Promise<Answer> => {
    const answer = await service.request(address, options);
    const form = options.form && !(options.form instanceof FormData) ? JSON.stringify(options.form) : '';
    const method = options.method ?? (form ? 'POST' : 'GET');
    lines.push(describeAnswer(`${method} ${address} ${options.host ?? ''} ${options.as ?? ''} ${form}`, answer));
    return answer;
  };

  it('to reads of every kind', async () => {
    const requests = makeRequests(dice, records);
    for (let n = 0; n < 2000; n++) {
      const request = requests.make(hosts, readers);
      requests.remember(request, await ask(request.path, request.options));
    }
  });

  it('to the examples of every operation, in every format, for every role', async () => {
    for (const operation of listRoutes(service.deps)) {
      // Registrations and logins are counted: often is refused.
      const formats = operation.method === 'get' ? ['', 'format=xml', 'callback=f.g', 'format=yaml'] : ['', 'format=xml'];
      for (const example of operation.examples) {
        const address = Object.entries(example.path ?? {}).reduce(
          (all, [name, value]) => all.replace(`{${name}}`, value),
          operation.path,
        );
        for (const as of [null, 'nachbarin', 'admin'] as const)
          for (const format of formats) {
            const query = [new URLSearchParams(example.query).toString(), format].filter(Boolean).join('&');
            await ask(query ? `${address}?${query}` : address, {
              as,
              method: operation.method.toUpperCase(),
              ...(example.form && { form: example.form }),
              ...(example.headers && { headers: example.headers }),
            });
            service.forgetTokens();
          }
      }
    }
  });

  const sent: Record<string, string[]> = {
    art: ['2', '7', '4711', 'x', ''],
    lat: ['5530001', ''],
    lon: ['420001.123456', 'x'],
    srid: ['EPSG:25832', 'EPSG:4326', '25832'],
    anzahl: ['3', '0', ''],
    sensibel: ['true', '0', 'ja'],
    datum: ['1.9.2026', '31.2.2024', '1.1.1799', ''],
    bereich: ['oeffentlich', 'privat', ''],
    bemerkung: ['am <Ufer> & "mehr"', ''],
    stadium_id: ['1', '99', ''],
    aktivitaet_id: ['2', '99', ''],
    status: ['freigegeben', 'hinweis', 'Freigegeben'],
    foto: [''],
    audio: [''],
  };
  const variants = Object.entries(sent).flatMap(([name, values]) => values.map((value) => ({ [name]: value })));

  it('to reports', async () => {
    const usual = { art: String(arten.amsel), lat: '5530000', datum: '2.9.2026' };
    let lon = 430_000;
    for (const as of [null, 'melder', 'admin'] as const)
      for (const form of [{}, ...variants, ...variants.map((variant) => ({ ...variant, ...dice.pick(variants) }))])
        for (const format of as === 'melder' ? ['', '?format=xml'] : [''])
          await ask(`/sichtbeobachtungen${format}`, { as, form: { ...usual, lon: String(lon++), ...form } });
    await ask('/sichtbeobachtungen', { as: 'melder', form: { ...usual, lon: '430500' } });
    await ask('/sichtbeobachtungen', { as: 'melder', form: { ...usual, lon: '430500' } });
  });

  it('to changes, reviews and deletions by everybody, and what is there afterwards', async () => {
    for (const stage of ['privat', 'pruefung', 'hinweis', 'abgelehnt', 'freigegeben'] as const) {
      const own = records.filter((record) => record.stage === stage && record.recorder === 'melder');
      for (const as of readers) {
        const { id } = dice.pick(own);
        for (const form of [
          ...variants,
          { lat: '5531000', lon: String(421_000 + id) },
          { status: 'freigegeben', bemerkung: 'gut' },
        ])
          await ask(`/sichtbeobachtungen/${id}`, { method: 'PUT', as, form });
        await ask(`/sichtbeobachtungen/${id}`, { as: 'melder' });
        await ask(`/sichtbeobachtungen/${id}`, { method: 'DELETE', as });
        await ask(`/sichtbeobachtungen/${id}`, { as: 'melder' });
      }
    }
    for (const as of readers) for (const log of ['/protokoll?limit=1000', '/qs?limit=1000', '/nutzer']) await ask(log, { as });
  });

  it('are those of the other checkout', (t) => {
    assert.ok(lines.length > 3500, `${lines.length}`);
    t.diagnostic(`${lines.length} requests`);
    if (path === undefined) return;
    if (!existsSync(path)) {
      writeFileSync(path, lines.join('\n'));
      t.diagnostic(`written to ${path}`);
      return;
    }
    const others = readFileSync(path, 'utf8').split('\n');
    const different = lines.flatMap((line, at) =>
      line === others[at] ? [] : `${line.slice(0, 600)}\n  was ${others[at]?.slice(0, 600)}`,
    );
    assert.equal(different.length, 0, `${different.length} of ${lines.length}:\n${different.slice(0, 10).join('\n')}`);
    assert.equal(lines.length, others.length);
  });
});
