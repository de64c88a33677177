// The property of D4: of a protected record nobody but its owner, experts and administrators learns more than the cell. Two
// services that differ only in places within cells give such readers the same bytes, whatever they ask.
// EIGENSCHAFT_ANFRAGEN says how many requests; EIGENSCHAFT_SAAT begins another sequence of them.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { before, describe, it, mock, type TestContext } from 'node:test';
import { countPruefung } from '../../src/db/pruefung.ts';
import { type Account, arten } from '../support/catalogue.ts';
import { onPostgres } from '../support/database.ts';
import { makeDice } from '../support/dice.ts';
import { serveApp } from '../support/listen.ts';
import type { Answer } from '../support/service.ts';
import { filterNames, makeProbes, makeRequests, type TwinRequest } from '../support/twin-requests.ts';
import {
  assertSameBytes,
  cellSize,
  isProtected,
  type Place,
  pickPlace,
  startTwins,
  type Tenant,
  type TwinRecord,
  tenants,
  toBytes,
} from '../support/twins.ts';
import { shortenWalks } from '../support/walks.ts';

const total = Number(process.env.EIGENSCHAFT_ANFRAGEN ?? (onPostgres ? 2000 : 500));
const dice = makeDice(Number(process.env.EIGENSCHAFT_SAAT ?? 5));

// Signed addresses of files carry the second in which they end.
mock.timers.enable({ apis: ['Date'], now: Date.now() });
const twins = await startTwins(dice);
const requests = makeRequests(dice, twins.records);

const hosts = ['n.test', 's.test', 'w.test', 'n2.test'];
const stranger: Account = 'käfer anna';
const exempt: Account[] = ['expertin', 'vogelexperte', 'admin'];

interface Phase {
  hosts: readonly string[];
  /** Who must not see where the moved records lie. */
  readers: readonly (Account | null)[];
  /** Who does see it. */
  insiders: readonly Account[];
}

async function ask(port: number, method: string, path: string) {
  const headers = { host: 'n.test' };
  const sent = request({ host: '127.0.0.1', port, method, path: `/api/v2${path}`, headers, agent: false }).end();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  const body = await text(answer);
  return { status: answer.statusCode, etag: answer.headers.etag, length: answer.headers['content-length'], body };
}

async function askSame(request: TwinRequest): Promise<number> {
  const { path, options } = request;
  const answers = await twins.ask(path, options);
  assertSameBytes(answers, `${options.method ?? 'GET'} ${path} at ${options.host} as ${options.as}`);
  requests.remember(request, answers[0]);
  return answers[0].status;
}

/** Asks `share` of all requests as those who must see no difference, and some as those who do see one. */
async function compare(t: TestContext, share: number, { hosts, readers, insiders }: Phase): Promise<void> {
  const statuses = new Map<number, number>();
  const used = new Set<string>();
  const count = Math.ceil(total * share);
  for (let asked = 0; asked < count; asked++) {
    const request = requests.make(hosts, readers);
    const status = await askSame(request);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    for (const [, name = ''] of request.path.matchAll(/[?&](\w+)=/g)) used.add(name);
  }
  let different = 0;
  for (let asked = 0; asked < 20 + count / 20; asked++) {
    const { path, options } = requests.make(hosts, insiders);
    const [one, two] = await twins.ask(path, options);
    if (toBytes(one) !== toBytes(two)) different++;
  }
  t.diagnostic(`${count} requests without a difference: ${[...statuses].map(([status, n]) => `${n} × ${status}`).join(', ')}`);
  assert.ok((statuses.get(200) ?? 0) > count / 2, 'most requests are answered');
  const unused = filterNames.filter((name) => !used.has(name));
  if (count >= 500) assert.deepEqual(unused, [], 'every filter is used');
  assert.ok(different > 0, `${insiders} see that places differ`);
}

describe('two services that differ within cells', () => {
  it("S1.10 answer alike when another recorder's records are moved: also to one who has records of their own", async (t) => {
    await twins.arrange((record) => record.recorder === 'nachbarin' && tenants.every((tenant) => isProtected(record, tenant)));
    await compare(t, 0.2, { hosts, readers: [null, stranger, 'melder'], insiders: [...exempt, 'nachbarin'] });
  });

  it('S1.10 answer alike at every domain when all records are moved that are protected everywhere', async (t) => {
    await twins.arrange((record) => tenants.every((tenant) => isProtected(record, tenant)));
    await compare(t, 0.2, { hosts, readers: [null, stranger], insiders: [...exempt, 'nachbarin', 'melder'] });
  });

  it('S1.10 answer alike to an expert of another tenant when records are moved that do not touch hers', async (t) => {
    const isHidden = (record: TwinRecord) => tenants.every((tenant) => isProtected(record, tenant));
    await twins.arrange((record) => isHidden(record) && !record.touches.includes('S'));
    await compare(t, 0.2, { hosts, readers: [null, stranger, 'südexpertin'], insiders: exempt });
    await twins.change((sql) => countPruefung(sql));
    const readQueue = async (as: Account, query: string) => {
      const answers = await twins.ask(`/pruefung/v1/warteschlange?limit=200${query}`, { below: '', as });
      // Each database numbers its own transactions.
      return answers.map(({ text }) => text.replaceAll(/"stand":"v[0-9a-f]+",/g, ''));
    };
    for (const query of ['', '&sortierung=auffaellig', '&mandant=S', '&gid=1&mit_foto=true']) {
      const [one, other] = await readQueue('südexpertin', query);
      assert.equal(one, other, query);
    }
    const [one, other] = await readQueue('expertin', '');
    assert.notEqual(one, other);
    await twins.arrange((record) => isHidden(record) && record.touches.includes('S'));
    await compare(t, 0.05, { hosts, readers: [stranger], insiders: ['südexpertin'] });
    await twins.arrange(isHidden);
  });

  it('S1.3 list, detail, next page, restrict, XML, JSONP, HEAD lengths and ETags are those of the shown place', async () => {
    const isAlike = (record: TwinRecord) =>
      record.stage === 'freigegeben' && record.places[0].x !== record.places[1].x && tenants.every((k) => isProtected(record, k));
    const forms = ['', '&restrict=lat,lon', '&format=xml', '&format=xml&restrict=lon', '&callback=f', '&callback=f&restrict=lat'];
    // Only a real connection has the lengths of answers without a body.
    const servers = [await serveApp(twins.first.app.fetch), await serveApp(twins.second.app.fetch)] as const;
    for (const record of twins.records.filter(isAlike).slice(0, 3)) {
      const centre = { x: record.corner.x + cellSize / 2, y: record.corner.y + cellSize / 2 };
      const around = `bbox=${centre.x - 1},${centre.y - 1},${centre.x + 1},${centre.y + 1}`;
      const { json } = await twins.first.request(`/sichtbeobachtungen?limit=1&${around}`);
      const paths = [
        `/sichtbeobachtungen/${record.id}?`,
        `/sichtbeobachtungen?limit=1000&${around}`,
        ...(json.next ? [`${json.next.slice(json.next.indexOf('/sichtbeobachtungen'))}`] : []),
      ];
      for (const path of paths) {
        for (const form of forms) {
          const [one, two] = [await ask(servers[0], 'GET', path + form), await ask(servers[1], 'GET', path + form)];
          assert.equal(one.status, 200, `${path}${form}: ${one.body}`);
          assert.ok(one.etag, path);
          assert.deepEqual(two, one, path + form);
          for (const place of record.places) {
            for (const number of [place.x, place.y].filter((value) => value % 2500 !== 0))
              assert.ok(!one.body.includes(String(number)), `${number} in ${path}${form}`);
          }
          const head = [await ask(servers[0], 'HEAD', path + form), await ask(servers[1], 'HEAD', path + form)];
          assert.deepEqual(head[1], head[0], `HEAD ${path}${form}`);
          // A length is not said, or that of the masked body.
          const length = head[0]?.length ?? one.length;
          assert.deepEqual({ ...head[0], length }, { ...one, body: '' }, `HEAD ${path}${form}`);
        }
      }
      const [shown] = (await twins.second.request(`/sichtbeobachtungen/${record.id}?restrict=lat,lon`)).json.result;
      assert.deepEqual(shown, { lat: centre.y, lon: centre.x });
    }
  });

  it('S1.10 answer alike when lists look further than the newest records', async (t) => {
    await twins.change(shortenWalks);
    const hidden = twins.records.filter((record) => tenants.every((tenant) => isProtected(record, tenant)));
    for (const record of hidden.filter(({ stage }) => stage === 'freigegeben').slice(0, 5)) {
      for (const tenant of tenants) for (const request of makeProbes(record, null, tenant)) await askSame(request);
    }
    await compare(t, 0.2, { hosts, readers: [null, stranger], insiders: [...exempt, 'nachbarin', 'melder'] });
  });

  for (const tenant of ['W', 'S'] as const) {
    it(`S1.10 answer alike at ${tenant} when records are moved that ${tenant} protects, though others may not`, async (t) => {
      await twins.arrange((record) => isProtected(record, tenant));
      const here = twins.records.filter(
        (record) => isProtected(record, tenant) && !tenants.every((other) => isProtected(record, other)),
      );
      for (const record of here.filter(({ stage }) => stage === 'freigegeben').slice(0, 3)) {
        for (const request of makeProbes(record, null, tenant)) await askSame(request);
      }
      assert.ok(here.length > 0, 'some are protected here alone');
      const host = `${tenant.toLowerCase()}.test`;
      await compare(t, 0.1, { hosts: [host], readers: [null, stranger], insiders: [...exempt, 'melder'] });
    });
  }
});

describe('two services that are written to', () => {
  const everyone: Phase = { hosts, readers: [null, stranger], insiders: [...exempt, 'melder'] };
  const isHidden = (record: TwinRecord) => tenants.every((tenant) => isProtected(record, tenant));
  let day = 10;

  before(() => twins.arrange(isHidden));

  async function probe(record: TwinRecord): Promise<void> {
    for (const tenant of tenants) for (const request of makeProbes(record, null, tenant)) await askSame(request);
    for (const request of makeProbes(record, stranger, 'S')) await askSame(request);
  }

  /** Sends a form to both, each with the record's place in it; the answers must be alike. */
  async function send(path: string, as: Account, form: Record<string, string>, places?: [Place, Place], method?: string) {
    const { first, second } = twins;
    const forms = [0, 1].map((which) => {
      const place = places?.[which];
      return { ...form, ...(place && { lat: String(place.y), lon: String(place.x) }) };
    });
    const options = { as, host: 's.test', ...(method && { method }) };
    const answers: [Answer, Answer] = [
      await first.request(path, { ...options, form: forms[0] ?? {} }),
      await second.request(path, { ...options, form: forms[1] ?? {} }),
    ];
    assertSameBytes(answers, `${method ?? 'POST'} ${path}`);
    assert.ok(answers[0].status < 300 || answers[0].status === 409, answers[0].text);
    await twins.settle();
    return answers[0];
  }

  /** Stores a record whose two places may differ only if it is protected from the beginning. */
  async function report(art: number, sensibel: boolean, touches: Tenant[], column: number, apart: boolean): Promise<TwinRecord> {
    const corner = { x: column * cellSize, y: 1106 * cellSize };
    const home = pickPlace(dice, corner);
    const places: [Place, Place] = [home, apart ? pickPlace(dice, corner) : home];
    day++;
    const form = { art: String(art), sensibel: String(sensibel), datum: `${day}.8.2023` };
    const { json } = await send('/sichtbeobachtungen', 'melder', form, places);
    const { json: again } = await send('/sichtbeobachtungen', 'melder', form, places);
    assert.equal(again.error.fields.id, json.result[0].id);
    const given = { art, sensibel, corner, touches, places, day: `2023-08-${day}` };
    const record: TwinRecord = { ...given, id: json.result[0].id, recorder: 'melder', stage: 'privat' };
    twins.records.push(record);
    return record;
  }

  const edit = (record: TwinRecord, form: Record<string, string>, places?: [Place, Place]) =>
    send(`/sichtbeobachtungen/${record.id}`, 'melder', form, places, 'PUT');

  async function release(record: TwinRecord): Promise<void> {
    await edit(record, { bereich: 'oeffentlich' });
    for (const request of makeProbes(record, stranger, 'N')) await askSame(request);
    await send(`/sichtbeobachtungen/${record.id}`, 'expertin', { status: 'freigegeben' }, undefined, 'PUT');
    record.stage = 'freigegeben';
    await probe(record);
  }

  /** Another pair of places in the cell, one on either side of the border of N and S where it cuts the cell. */
  function movePlaces(record: TwinRecord): [Place, Place] {
    const { x, y } = record.corner;
    record.places = [
      { x: x + 700 + dice.below(1000), y: y + dice.below(cellSize) },
      { x: x + 3600 + dice.below(1000), y: y + dice.below(cellSize) },
    ];
    return record.places;
  }

  it('S1.10 answer alike when a protected record is reported, moved within its cell, published and released', async () => {
    for (const [art, sensibel] of [
      [arten.uhu, false],
      [arten.amsel, true],
      [arten.wanderfalke, false],
    ] as const) {
      const record = await report(art, sensibel, ['N', 'S'], 90, true);
      await edit(record, {}, movePlaces(record));
      await release(record);
    }
  });

  it('S1.10 answer alike when a record becomes protected with its move: by its mark, or as another species', async () => {
    for (const form of [{ sensibel: 'true' }, { art: String(arten.uhu) }, { art: String(arten.wanderfalke) }]) {
      const record = await report(arten.amsel, false, ['N', 'S'], 90, false);
      await edit(record, form, movePlaces(record));
      record.art = Number('art' in form ? form.art : record.art);
      record.sensibel = 'sensibel' in form;
      await release(record);
    }
  });

  it('S1.10 answer alike when a mark is taken off a protected species, and set again', async () => {
    const record = await report(arten.uhu, true, ['N', 'S'], 90, true);
    for (const sensibel of [false, true, false]) await edit(record, { sensibel: String(sensibel) }, movePlaces(record));
    record.sensibel = false;
    await release(record);
  });

  it('S1.10 answer alike when a protected record is deleted', async () => {
    const record = await report(arten.uhu, false, ['N', 'S'], 90, true);
    await send(`/sichtbeobachtungen/${record.id}`, 'melder', {}, undefined, 'DELETE');
    twins.records.pop();
    await probe(record);
  });

  it('S1.10 answer alike when the border moves through cells that it cuts already', async (t) => {
    await twins.arrange(isHidden);
    for (const border of [453500, 452000]) {
      await twins.change(
        (sql) => sql`
          update portal.mandant m set boundary = st_multi(case m.kuerzel
            when 'N' then st_makeenvelope(400000, 5500000, ${border}::float8, 5560000, 25832)
            else st_makeenvelope(${border}::float8, 5500000, 500000, 5560000, 25832) end)
          where m.kuerzel in ('N', 'S')`,
      );
      await askSame({ kind: 'log', path: '/protokoll?limit=1000', options: { as: null, host: 'n.test' } });
      await compare(t, 0.045, everyone);
    }
  });

  it('S1.10 answer alike when a species becomes sensitive and its records are moved then', async (t) => {
    const setSensibel = (sensibel: boolean) =>
      twins.change(
        (sql) => sql`
          update portal.art_mandant am set sensibel = ${sensibel} from portal.mandant m
          where m.id = am.mandant_id and m.kuerzel = 'N' and am.art = ${arten.amsel}`,
      );
    await setSensibel(true);
    await twins.arrange((record) => isHidden(record) || (record.art === arten.amsel && record.touches.includes('N')));
    await compare(t, 0.07, everyone);
    await twins.arrange(isHidden);
    await setSensibel(false);
    await compare(t, 0.04, everyone);
  });
});

describe('two services of tenants that keep back what describes a place (D6.5)', () => {
  const isHidden = (record: TwinRecord) => tenants.every((tenant) => isProtected(record, tenant));

  it('answer alike when the remarks and biotope photos of protected records differ, and their places', async (t) => {
    await twins.change((sql) => sql`update portal.mandant set bemerkung_geschuetzter = 'verbergen'`);
    for (const [which, { database, media }] of [twins.first, twins.second].entries()) {
      for (const [position, { id }] of twins.records.filter(isHidden).entries()) {
        // Remarks of other lengths too: what is shown must not depend on them.
        const name = `${String(which)}${String(position).padStart(31, '0')}.jpg`;
        const remark = `am ${which === 0 ? 'Bach' : 'Waldrand '.repeat(1 + (position % 40))}`;
        await media.storage.put(name, Buffer.from(name), 'image/jpeg');
        await database.sql`update portal.sichtbeobachtung set bemerkung = ${remark}, biotopfoto = ${name} where id = ${id}`;
      }
    }
    await twins.arrange(isHidden);
    await compare(t, 0.2, { hosts, readers: [null, stranger], insiders: [...exempt, 'melder', 'nachbarin'] });
  });
});
