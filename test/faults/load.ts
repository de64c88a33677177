// Ten times as many requests as the service can answer (S5.3), from many networks: sent by a thread of its own, at their time, whether the
// ones before are answered or not.
import { Agent, request } from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { poolSize, reservedConnections } from '../../src/db/client.ts';

export interface LoadTask {
  port: number;
  seconds: number;
  /** Requests a second, whatever becomes of them; null: as many as so many clients get answered that ask one after the other. */
  rate: number | null;
  /** Number of the first request; each makes another one. */
  first: number;
  /** Who reports. */
  account: { loginname: string; token: string };
  /** Who log in: many, because a login that was refused on its way counts as a wrong password. */
  people: readonly { loginname: string; sha1: string }[];
}

export interface LoadResult {
  sent: number;
  /** Seconds from the first request to the last answer. */
  seconds: number;
  /** Status, or how it failed → how many. */
  answers: Record<string, number>;
  /** The slowest answer of each status, in milliseconds, less the time for which the sender itself did not get to run. */
  slowestMs: Record<string, number>;
  /** Status → what was asked for by whoever waited longest for it. */
  slowest: Record<string, string>;
  refusedWithoutRetryAfter: number;
  /** Requests that were not sent because all connections of their network were waiting for an answer. */
  heldBack: number;
}

// As many connections as the service allows, less those of others.
const networks = 20;
const perNetwork = 90;
const patienceMs = 20_000;
const answeredSeconds = 2;
// Each network asks for everything.
const networkOf = (number: number) => Math.floor(number / 8) % networks;

/** Sends requests for so long, and waits for the answers. */
export function applyLoad(task: LoadTask): Promise<LoadResult> {
  const { promise, resolve, reject } = Promise.withResolvers<LoadResult>();
  const worker = new Worker(new URL(import.meta.url), { workerData: task });
  worker.once('message', resolve);
  worker.once('error', reject);
  return promise.finally(() => worker.terminate());
}

interface Question {
  path: string;
  body?: string;
  isOwn?: boolean;
}

/** What portals ask: pages, boxes, exports, logins, reports. The number makes each another one, so that none is answered from memory. */
function makeQuestion(number: number, { people }: LoadTask): Question {
  const api = '/api/v2';
  switch (number % 8) {
    case 0:
    case 1:
    case 2:
      return { path: `${api}/sichtbeobachtungen?limit=100&x=${number}` };
    case 3:
      return { path: `${api}/sichtbeobachtungen?bbox=${380_000 + (number % 50_000)},5450000,440000,5560000&limit=100` };
    case 4:
      return { path: `${api}/sichtbeobachtungen?limit=500&format=xml&x=${number}` };
    case 5:
      return { path: `${api}/arten?limit=100&x=${number}` };
    case 6: {
      const { loginname = '', sha1 = '' } = people[Math.floor(number / 8 / networks) % people.length] ?? {};
      return { path: `${api}/login`, body: new URLSearchParams({ loginname, password: sha1 }).toString() };
    }
    default: {
      const place = { lat: String(5_470_000 + Math.floor(number / 60_000)), lon: String(380_000 + (number % 60_000)) };
      return {
        path: `${api}/sichtbeobachtungen`,
        body: new URLSearchParams({ art: '40', ...place, bemerkung: 'Last' }).toString(),
        isOwn: true,
      };
    }
  }
}

// Portals hold their connections, as many as they need where all is answered or refused in time (S5.3). New ones are let in one by
// one: of hundreds at once in the midst of a load, the wait for that was the slowest of all, before the service had heard anything.
async function openConnections(port: number, agents: readonly Agent[], count: number): Promise<void> {
  const open = (agent: Agent) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const sent = request({ port, host: '127.0.0.1', path: '/health/live', agent, headers: { Host: 'localhost' } });
    sent.on('error', reject);
    sent.on('response', (response) => response.resume().on('close', resolve));
    sent.end();
    return promise;
  };
  await Promise.all(agents.flatMap((agent) => Array.from({ length: count }, () => open(agent))));
}

async function send(task: LoadTask): Promise<LoadResult> {
  const { port, seconds, rate, account } = task;
  const agents = Array.from(
    { length: networks },
    // In turns: one that is idle for long is closed, and its place counts until the service has heard of it.
    (_, n) => new Agent({ keepAlive: true, maxSockets: perNetwork, scheduling: 'fifo', localAddress: `127.4.0.${n + 1}` }),
  );
  const result: LoadResult = {
    sent: 0,
    seconds: 0,
    answers: {},
    slowestMs: {},
    slowest: {},
    refusedWithoutRetryAfter: 0,
    heldBack: 0,
  };
  const underWay: number[] = [];
  // The lag of this second and of the one before.
  const lag = monitorEventLoopDelay({ resolution: 10 });
  lag.enable();
  const lags = [0, 0];
  const looking = setInterval(() => {
    lags.unshift(lag.max / 1e6);
    lags.length = 2;
    lag.reset();
  }, 1000);

  const mayAsk = () => (underWay[networkOf(result.sent)] ?? 0) < perNetwork;
  const ask = (): Promise<void> => {
    const number = result.sent++;
    const network = networkOf(number);
    const { path, body, isOwn } = makeQuestion(task.first + number, task);
    const { promise, resolve } = Promise.withResolvers<void>();
    const begin = performance.now();
    underWay[network] = (underWay[network] ?? 0) + 1;
    const end = (status: string) => {
      const what = `${body === undefined ? 'GET' : 'POST'} ${path.split('&x=')[0]}`;
      // Who got none is told by what they asked for.
      const answer = /^\d+$/.test(status) ? status : `${status} for ${what}`;
      underWay[network] = (underWay[network] ?? 1) - 1;
      result.answers[answer] = (result.answers[answer] ?? 0) + 1;
      const ms = Math.max(0, performance.now() - begin - Math.max(...lags, lag.max / 1e6));
      if (ms > (result.slowestMs[answer] ?? 0)) result.slowest[answer] = what;
      result.slowestMs[answer] = Math.max(result.slowestMs[answer] ?? 0, ms);
      resolve();
    };
    const sent = request({
      port,
      host: '127.0.0.1',
      path,
      agent: agents[network] as Agent,
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        Host: 'localhost',
        ...(body !== undefined && {
          'Content-Type': 'application/x-www-form-urlencoded',
          'Content-Length': Buffer.byteLength(body),
        }),
        ...(isOwn && { 'X-Auth-User': account.loginname, 'X-Auth-Token': account.token }),
      },
    });
    let isOver = false;
    const endOnce = (answer: string) => {
      if (!isOver) end(answer);
      isOver = true;
    };
    sent.setTimeout(patienceMs, () => {
      endOnce(`none in ${patienceMs / 1000} s`);
      sent.destroy();
    });
    sent.on('error', (error: NodeJS.ErrnoException) => endOnce(error.code ?? error.message));
    sent.on('response', (response) => {
      if (response.statusCode === 503 && response.headers['retry-after'] === undefined) result.refusedWithoutRetryAfter++;
      response.resume();
      response.on('error', (error: NodeJS.ErrnoException) => endOnce(error.code ?? error.message));
      response.on('end', () => endOnce(String(response.statusCode)));
    });
    sent.end(body);
    return promise;
  };

  if (rate !== null) await openConnections(port, agents, Math.min(perNetwork, Math.ceil((rate / networks) * answeredSeconds)));
  const begin = performance.now();
  const elapsed = () => (performance.now() - begin) / 1000;
  if (rate === null) {
    const clients = Array.from({ length: poolSize + reservedConnections }, async () => {
      while (elapsed() < seconds) await ask();
    });
    await Promise.all(clients);
  } else {
    let due = 0;
    while (elapsed() < seconds) {
      for (const until = rate * elapsed(); due < until; due++) {
        if (mayAsk()) void ask();
        else result.heldBack++;
      }
      await sleep(5);
    }
    while (underWay.some((count) => count > 0)) await sleep(20);
  }
  result.seconds = elapsed();
  clearInterval(looking);
  lag.disable();
  for (const agent of agents) agent.destroy();
  return result;
}

if (!isMainThread && workerData?.account !== undefined) parentPort?.postMessage(await send(workerData as LoadTask));
