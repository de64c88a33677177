// The witness: a client with another address, in a thread of its own, whose few requests must always be answered, whatever is sent by
// others.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { ask, type Door, type Reply } from '../support/proxy.ts';
import type { Account } from './site.ts';

/** What the witness saw of one request. */
export interface Testimony {
  name: string;
  /** null: no answer. */
  status: number | null;
  isExpected: boolean;
  ms: number;
  /** How long the witness itself did not get to run meanwhile: others may keep the cores busy. */
  ownLagMs: number;
}

interface Task {
  door: Door;
  account: Account;
  /** A record that is there throughout. */
  record: number;
}

// Each question about once a second.
const everyMs = 160;
const patienceMs = 15_000;
const localAddress = '127.0.0.2';

/** Asks until it is stopped. */
export function startWitness(task: Task, hear: (testimony: Testimony) => void): { stop(): Promise<unknown> } {
  const { httpPort, httpsPort, isPlain } = task.door;
  const worker = new Worker(new URL(import.meta.url), { workerData: { ...task, door: { httpPort, httpsPort, isPlain } } });
  worker.on('message', hear);
  return { stop: () => worker.terminate() };
}

async function testify({ door, account, record }: Task): Promise<void> {
  const lag = monitorEventLoopDelay({ resolution: 10 });
  lag.enable();
  const lon = String(400_000 + (Math.floor(Date.now() / 1000) % 20_000));
  const report = (count: number) => ({
    art: '40',
    lat: String(5_480_000 + count),
    lon,
    datum: '2.5.2024',
    bereich: 'oeffentlich',
    bemerkung: 'Zeuge',
  });
  const credentials = { loginname: account.loginname, password: account.sha1 };
  const api = '/api/v2';
  const questions: {
    name: string;
    path: string;
    status?: number;
    isOwn?: true;
    form?: (count: number) => Record<string, string>;
    says?: string;
  }[] = [
    { name: 'list', path: `${api}/sichtbeobachtungen?limit=20` },
    { name: 'login', path: `${api}/login`, form: () => credentials, says: '"token"' },
    { name: 'box', path: `${api}/sichtbeobachtungen?bbox=400000,5480000,440000,5560000&limit=50` },
    { name: 'report', path: `${api}/sichtbeobachtungen`, status: 201, isOwn: true, form: report },
    { name: 'detail', path: `${api}/sichtbeobachtungen/${record}` },
    { name: 'live', path: '/health/live' },
  ];
  for (let count = 0; ; count++) {
    const {
      name,
      path,
      status = 200,
      isOwn,
      form,
      says = '',
    } = questions[count % questions.length] as (typeof questions)[number];
    const headers = {
      ...(isOwn && { 'X-Auth-User': account.loginname, 'X-Auth-Token': account.token }),
      ...(form && { 'Content-Type': 'application/x-www-form-urlencoded' }),
    };
    const body = form && Buffer.from(new URLSearchParams(form(count)).toString());
    lag.reset();
    const begin = performance.now();
    const question = { headers, localAddress, signal: AbortSignal.timeout(patienceMs), ...(body && { method: 'POST', body }) };
    const reply: Reply | null = await ask(door, 'localhost', path, question).catch(() => null);
    const ms = performance.now() - begin;
    const isExpected = reply?.status === status && reply.body.toString().includes(says);
    const testimony: Testimony = { name, status: reply?.status ?? null, isExpected, ms, ownLagMs: lag.max / 1e6 };
    parentPort?.postMessage(testimony);
    await sleep(Math.max(0, everyMs - ms));
  }
}

if (!isMainThread && workerData?.record !== undefined) void testify(workerData as Task);
