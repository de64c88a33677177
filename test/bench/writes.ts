// What is written: reports, publications, and both among reads. Everything is removed again afterwards.
import * as v from 'valibot';
import type { Sql } from '../../src/db/client.ts';
import { createSichtbeobachtung, type NewSichtbeobachtung, updateSichtbeobachtung } from '../../src/db/sichtbeobachtung.ts';
import { hashPassword, sha1OfPlain } from '../../src/guard/password.ts';
import { createSichtbeobachtungFields } from '../../src/http/routes/sichtbeobachtung-fields.ts';
import { encodeMultipart } from '../fuzz/encode.ts';
import { type Call, captureStatement, headersOf, Raw } from './calls.ts';
import { type Case, readCases } from './cases.ts';
import { type Facts, makeVariants, pick } from './facts.ts';

const boundary = 'sighting-bench';

function toForm(fields: Record<string, string | number>): string {
  const parts = Object.entries(fields).map(([name, value]) => ({ name, content: String(value) }));
  return encodeMultipart(parts, boundary).toString();
}

const urlencodedHeaders = { 'content-type': 'application/x-www-form-urlencoded' };
const formHeaders = { 'content-type': `multipart/form-data; boundary=${boundary}` };

// Numbers that no two requests share, also not between rounds: the same report again would be refused.
let reports = 0;
const nextOffset = () => ++reports;

interface Place {
  srid: 25832 | 4326;
  /** Fields of the form. */
  make(n: number): { lat: number; lon: number };
  /** For pgbench, which draws its own numbers. */
  raw: { set: string; lat: string; lon: string };
}

// In steps of a centimetre over 400 km, or about as much in degrees.
const places: Record<'utm' | 'degrees', Place> = {
  utm: {
    srid: 25832,
    make: (n) => ({ lat: 5_400_000 + (n % 1000) * 400 + n / 1e5, lon: 400_000 + ((n * 7919) % 400_000) }),
    raw: {
      set: '\\set lat random(540000000, 590000000)\n\\set lon random(40000000, 80000000)\n',
      lat: '(:lat / 100.0)',
      lon: '(:lon / 100.0)',
    },
  },
  degrees: {
    srid: 4326,
    make: (n) => ({ lat: 49 + (n % 1000) * 0.004 + n / 1e10, lon: 8 + ((n * 7919) % 400_000) / 1e5 }),
    raw: {
      set: '\\set lat random(490000000, 530000000)\n\\set lon random(80000000, 120000000)\n',
      lat: '(:lat / 10000000.0)',
      lon: '(:lon / 10000000.0)',
    },
  },
};

// What pgbench's own numbers take the place of.
const standIns = { lat: 123456789, lon: 987654321 };

async function reportCall(facts: Facts, n: number, place: Place): Promise<Call> {
  const reader = 1 + ((n * 37) % 1980);
  const { art } = pick(facts.species, n, 'report');
  const remark = 'Am Waldrand, ein Männchen "warnt" deutlich; Bestimmung nach Ruf.';
  const fields = { art, anzahl: 3, bereich: 'oeffentlich', srid: `EPSG:${place.srid}`, bemerkung: remark, datum: '01.03.2024' };
  const form = { art: String(art), lat: String(standIns.lat), lon: String(standIns.lon), anzahl: '3', datum: '1.3.2024' };
  const checked = v.parse(v.object(createSichtbeobachtungFields), { ...form, bereich: 'oeffentlich', bemerkung: remark });
  const values: NewSichtbeobachtung = { ...checked, srid: place.srid };
  const captured = await captureStatement((sql) => createSichtbeobachtung(sql, facts.plain.id, reader, null, values));
  // Inside of the text that the fields travel as; a colon before a letter would be a variable of pgbench's.
  const drawn = captured
    .replaceAll('":', '": ')
    .replace(String(standIns.lat), `' || ${place.raw.lat} || '`)
    .replace(String(standIns.lon), `' || ${place.raw.lon} || '`);
  return {
    method: 'POST',
    path: '/api/v2/sichtbeobachtungen',
    headers: { ...headersOf(facts.plain, reader), ...formHeaders },
    renew: () => ({ body: toForm({ ...fields, ...place.make(nextOffset()) }) }),
    statement: place.raw.set + drawn,
  };
}

// The records that PUT publishes: one after the other, by the database's sequence and by this process from the other end.
const drafts = 60_000;
const author = 500;

async function publishCalls(facts: Facts): Promise<Call[]> {
  const [range] = await facts.sql<{ first: number; last: number }[]>`
    with draft as (
      insert into portal.sichtbeobachtung (nutzer_id, art, point, datum)
      select ${author}::bigint, r.art, bench.scatter(o.x, o.y, 5000, bench.unit(n, 950), bench.unit(n, 951)), date '2024-05-01'
      from generate_series(1, ${drafts}::integer) n
      join bench.rang r on r.rang = 1 + n % 100
      join bench.ort o on o.id = 1 + n % 600
      returning id)
    select min(id) as first, max(id) as last from draft`;
  if (!range) throw new Error('no drafts');
  await facts.sql.unsafe(`drop sequence if exists bench.draft; create sequence bench.draft start ${range.first}`).simple();
  let next = range.last;
  const id = new Raw("nextval('bench.draft')") as unknown as number;
  const change = { bereich: 'oeffentlich' as const };
  return [
    {
      method: 'PUT',
      path: '',
      headers: { ...headersOf(facts.plain, author), ...formHeaders },
      renew: () => ({ path: `/api/v2/sichtbeobachtungen/${next--}`, body: toForm({ bereich: 'oeffentlich' }) }),
      statement: await captureStatement((sql) => updateSichtbeobachtung(sql, facts.plain.id, author, null, id, change)),
    },
  ];
}

/** Logins with the right password, of accounts of their own. */
async function loginCalls(facts: Facts): Promise<Call[]> {
  const password = sha1OfPlain('bench');
  const calls = await makeVariants(async (n): Promise<Call> => {
    const loginname = `bench-login-${n}`;
    await facts.sql`
      insert into portal.nutzer (loginname, email, vorname, nachname, password_hash)
      values (${loginname}, ${`${loginname}@example.org`}, 'Käthe', 'Müller', ${await hashPassword(password)})`;
    const body = `loginname=${loginname}&password=${password}`;
    return { method: 'POST', path: '/api/v2/login', headers: { host: facts.plain.host, ...urlencodedHeaders }, body };
  });
  const [{ path = '', method, headers, body = '' } = {}] = calls;
  const answer = await (await fetch(facts.url + path, { ...(method && { method }), headers: { ...headers }, body })).text();
  if (!answer.includes('"token"')) throw new Error(`the login of the benchmark is refused: ${answer}`);
  return calls;
}

/** Nine reads of the most usual kinds, then a report. */
async function mixedCalls(facts: Facts): Promise<Call[]> {
  const kinds = ['newest', 'bbox10', 'species', 'mandant', 'detail'];
  const reads = await Promise.all(readCases.filter(({ name }) => kinds.includes(name)).map((readCase) => readCase.calls(facts)));
  const reports = await makeVariants((n) => reportCall(facts, n, places.utm), 8);
  return reports.flatMap((report, n) => [
    ...Array.from({ length: 9 }, (_, k) => pick(reads[k % reads.length] ?? [], n * 9 + k, 'mixed')),
    report,
  ]);
}

export const writeCases: Case[] = [
  {
    name: 'post',
    title: 'POST',
    sides: ['db', 'ceiling', 'http'],
    calls: (facts) => makeVariants((n) => reportCall(facts, n, places.utm)),
  },
  {
    name: 'post-degrees',
    title: 'POST with reprojection',
    sides: ['db', 'ceiling', 'http'],
    calls: (facts) => makeVariants((n) => reportCall(facts, n, places.degrees)),
  },
  { name: 'login', title: 'POST /login', sides: ['http'], calls: loginCalls },
  { name: 'publish', title: 'PUT that publishes', sides: ['ceiling', 'http'], calls: publishCalls },
  { name: 'mixed', title: '90 % reads, 10 % POST', sides: ['http', 'again'], calls: mixedCalls },
];

/** Removes what the write cases stored, and its traces. */
export async function removeWritten(sql: Sql, size: number): Promise<void> {
  await sql`delete from portal.nutzer where loginname like 'bench-login-%'`;
  const { count } = await sql`delete from portal.sichtbeobachtung where id > ${size}::bigint`;
  if (count === 0) return;
  await sql`delete from portal.protokoll where sichtbeobachtung_id > ${size}::bigint`;
  await sql`delete from portal.qs where sichtbeobachtung_id > ${size}::bigint`;
  await sql.unsafe('vacuum (analyze) portal.sichtbeobachtung, portal.mandant_sichtbeobachtung, portal.protokoll, portal.qs');
}
