// What one client does to the service while another one wants to be served: directly, and behind the shipped nginx.conf.
import { once } from 'node:events';
import { Agent } from 'node:http';
import { Agent as SecureAgent } from 'node:https';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectSecurely } from 'node:tls';
import type { Account, Site } from '../fuzz/site.ts';
import { startWitness, type Testimony } from '../fuzz/witness.ts';
import { makeJpeg } from '../support/photo.ts';
import { ask, type Door, type Question, type Reply } from '../support/proxy.ts';
import { none, type Row } from './table.ts';

/** What an attack works with; it goes on until the signal. */
interface Arms {
  site: Site;
  photo: Uint8Array<ArrayBuffer>;
  /** Of the feed, behind which there is nothing yet. */
  cursor: string;
  signal: AbortSignal;
  /** A connection on which this was sent. */
  open(bytes: string): Socket;
  /** Sends the same over and over, on so many connections; what is made of it is counted. */
  repeat(lanes: number, path: (n: number) => string, question?: (n: number) => Promise<Question> | Question): Promise<void>;
}

interface Attack {
  name: string;
  /** What only a proxy withstands. */
  isProxys?: true;
  run(arms: Arms): Promise<void>;
}

const attacker = '127.0.0.1';
const api = '/api/v2';
const feed = '/abgleich/v1/sichtbeobachtungen';
const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
const credentials = ({ loginname, token }: Account) => ({ 'X-Auth-User': loginname, 'X-Auth-Token': token });
const manyClients = 2000;
const head = 'Host: localhost\r\n';
// Who is closed comes back; the system has to make the connections, too.
const againMs = 2000;
const dripMs = 500;

/** So many connections that begin in this way, and go on a byte at a time, or never. */
async function hold({ open, signal }: Arms, opening: string, drip: string, isRead = true): Promise<void> {
  const stay = async (n: number) => {
    await sleep(n, undefined, { signal });
    while (!signal.aborted) {
      const socket = open(opening);
      if (isRead) socket.resume();
      else socket.once('data', () => socket.pause());
      const timer = drip === '' ? undefined : setInterval(() => socket.write(drip), dripMs);
      await once(socket, 'close', { signal }).catch(() => socket.destroy());
      clearInterval(timer);
      await sleep(againMs, undefined, { signal });
    }
  };
  await Promise.allSettled(Array.from({ length: manyClients }, (_, n) => stay(n)));
}

export const attacks: readonly Attack[] = [
  {
    name: 'the dearest list, 50 at once',
    run: ({ repeat }) =>
      repeat(50, (n) => `${api}/sichtbeobachtungen?titel_deutsch=%25a%25&datum_von=1.1.${1990 + (n % 35)}&limit=1000&n=${n}`),
  },
  {
    name: 'photos of 12 megapixels, 8 at once',
    async run({ repeat, site, photo }) {
      const lon = String(400_000 + (Math.floor(Date.now() / 1000) % 20_000));
      const question = async (n: number): Promise<Question> => {
        const fields = new FormData();
        const place = { lat: String(5_490_000 + n), lon };
        for (const [name, value] of Object.entries({ art: '40', ...place, datum: '2.5.2024' })) fields.append(name, value);
        fields.append('foto', new Blob([photo]), 'x.jpg');
        const made = new Response(fields);
        const type = made.headers.get('content-type') ?? '';
        const headers = { ...credentials(site.roles.reporter), 'Content-Type': type };
        return { method: 'POST', headers, body: new Uint8Array(await made.arrayBuffer()) };
      };
      await repeat(8, () => `${api}/sichtbeobachtungen`, question);
    },
  },
  {
    name: "passwords of the witness's account, 50 at once",
    run: ({ repeat, site }) =>
      repeat(
        50,
        () => `${api}/login`,
        (n) => {
          const fields = { loginname: site.witness.loginname, password: n.toString(16).padStart(40, '0') };
          return { method: 'POST', headers: form, body: Buffer.from(new URLSearchParams(fields).toString()) };
        },
      ),
  },
  {
    name: 'the worst regular expression, 50 at once',
    run: ({ repeat }) =>
      repeat(50, (n) => `${api}/arten?name_regexp_ci=${encodeURIComponent(`(x?y?z?a?b?c?d?e?){1,${200 + (n % 40)}}q`)}`),
  },
  {
    name: '200 that wait for news of the feed',
    run: ({ repeat, cursor }) => repeat(200, () => `${feed}?seit=${cursor}&warten=30`),
  },
  {
    name: `${manyClients} slow heads`,
    isProxys: true,
    run: (arms) => hold(arms, `GET / HTTP/1.1\r\n${head}X: `, 'x'),
  },
  {
    name: `${manyClients} slow bodies`,
    isProxys: true,
    run: (arms) =>
      hold(
        arms,
        `POST ${api}/login HTTP/1.1\r\n${head}Content-Type: ${form['Content-Type']}\r\nContent-Length: 90000\r\n\r\n`,
        'x',
      ),
  },
  {
    name: `${manyClients} slow readers`,
    isProxys: true,
    run: (arms) => hold(arms, `GET ${api}/sichtbeobachtungen?limit=1000 HTTP/1.1\r\n${head}\r\n`, '', false),
  },
  { name: `${manyClients} connections`, isProxys: true, run: (arms) => hold(arms, '', '') },
  {
    name: 'rubbish instead of requests, 50 at once',
    isProxys: true,
    async run({ open, signal }) {
      const rubbish = 'GET \x01\xff / \x7f HTTP/7.3\r\n\x00: \x02\r\n\r\n'.repeat(1000);
      const lane = async () => {
        while (!signal.aborted) {
          const socket = open(rubbish);
          socket.resume();
          await Promise.race([once(socket, 'close'), sleep(2000)]).catch(() => {});
          socket.destroy();
        }
      };
      await Promise.all(Array.from({ length: 50 }, lane));
    },
  },
];

export interface Scene {
  site: Site;
  door: Door;
  /** A record that is there throughout. */
  record: number;
  seconds: number;
}

/** Plays these attacks one after the other; what the witness saw of each. */
export async function playAttacks(chosen: readonly Attack[], { site, door, record, seconds }: Scene): Promise<Row[]> {
  const heard: Testimony[] = [];
  const witness = startWitness({ door, account: site.witness, record }, (testimony) => heard.push(testimony));
  const rows: Row[] = [];
  const photo = new Uint8Array(await makeJpeg({ width: 4000, height: 3000, noise: 20 }));
  const cursor = await findCursor(door);
  const calm: Attack = { name: 'nothing', run: ({ signal }) => once(signal, 'abort').then(() => {}) };
  for (const { name, run } of [calm, ...chosen]) {
    heard.length = 0;
    const signal = AbortSignal.timeout(seconds * 1000);
    const answers = new Map<string, number>();
    await run({ site, photo, cursor, signal, ...makeArms(door, signal, answers) }).catch((error) => {
      if (!signal.aborted) throw error;
    });
    // What is asked last is answered, too.
    await sleep(500);
    rows.push(judge(name, heard, answers));
    await sleep(1500);
  }
  await witness.stop();
  return rows;
}

function judge(name: string, heard: readonly Testimony[], answers: ReadonlyMap<string, number>): Row {
  const slowest = ['list', 'box', 'login', 'report'].map((question) => {
    const times = heard.filter((testimony) => testimony.name === question).map(({ ms, ownLagMs }) => ms - ownLagMs);
    return `${question} ${(Math.max(0, ...times) / 1000).toFixed(2)}`;
  });
  const unserved = heard.filter(({ isExpected }) => !isExpected).map((each) => `${each.name} ${each.status ?? 'no answer'}`);
  const row = none(`${name}: witness not served`, heard.length === 0 ? ['it asked nothing'] : unserved);
  const told = [...answers].sort().map(([status, count]) => `${count} × ${status}`);
  const seen = `${row.seen} of ${heard.length}; slowest ${slowest.join(', ')} s${told.length > 0 ? `; attacker: ${told.join(', ')}` : ''}`;
  return { ...row, seen };
}

function makeArms(door: Door, signal: AbortSignal, answers: Map<string, number>): Pick<Arms, 'open' | 'repeat'> {
  const to = { host: '127.0.0.1', localAddress: attacker };
  return {
    open(bytes) {
      const secure = { ...to, port: door.httpsPort, servername: 'localhost', rejectUnauthorized: false };
      const socket = door.isPlain ? connect({ ...to, port: door.httpPort }) : connectSecurely(secure);
      socket.on('error', () => {});
      socket.write(bytes, 'latin1');
      return socket;
    },
    async repeat(lanes, path, question = () => ({})) {
      const options = { keepAlive: true, localAddress: attacker };
      const agent = door.isPlain ? new Agent(options) : new SecureAgent(options);
      let count = 0;
      const lane = async () => {
        while (!signal.aborted) {
          const n = count++;
          const asked = { agent, signal, localAddress: attacker, ...(await question(n)) };
          const failed = ({ code, name }: NodeJS.ErrnoException) => ({ status: code ?? name });
          const reply: { status: number | string } | Reply = await ask(door, 'localhost', path(n), asked).catch(failed);
          if (signal.aborted) return;
          answers.set(String(reply.status), (answers.get(String(reply.status)) ?? 0) + 1);
          if (reply.status !== 200 && reply.status !== 201) await sleep(10);
        }
      };
      await Promise.all(Array.from({ length: lanes }, lane));
      agent.destroy();
    },
  };
}

async function findCursor(door: Door): Promise<string> {
  for (let at = ''; ; ) {
    const { body } = await ask(door, 'localhost', `${feed}?limit=1000${at}`);
    const { result, cursor } = JSON.parse(body.toString());
    if (result.length === 0) return cursor;
    at = `&seit=${cursor}`;
  }
}

/** The record of which the witness asks. */
export async function findRecord(door: Door): Promise<number> {
  const { status, body } = await ask(door, 'localhost', `${api}/sichtbeobachtungen?limit=1&restrict=id&datum_bis=31.12.2023`);
  if (status !== 200) throw new Error(`no record for the witness: ${status} ${body}`);
  return JSON.parse(body.toString()).result[0].id;
}
