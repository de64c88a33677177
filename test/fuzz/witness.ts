// The witness: a client with another address, in a thread of its own, whose few requests must always be answered within a
// second, whatever is sent by others.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { readAnswers } from './answer.ts';
import { credentialsOf, encodeRequest, escapeText } from './encode.ts';
import type { Account } from './site.ts';
import { fire } from './wire.ts';

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
  port: number;
  account: Account;
  /** A record that is there throughout. */
  record: number;
}

const everyMs = 100;
const patienceMs = 10_000;
const address = '127.0.0.2';

/** Asks until it is stopped. */
export function startWitness(task: Task, hear: (testimony: Testimony) => void): { stop(): Promise<unknown> } {
  const worker = new Worker(new URL(import.meta.url), { workerData: task });
  worker.on('message', hear);
  return { stop: () => worker.terminate() };
}

async function testify({ port, account, record }: Task): Promise<void> {
  const lag = monitorEventLoopDelay({ resolution: 10 });
  lag.enable();
  const never = new AbortController().signal;
  const form = (fields: Record<string, string>) =>
    Buffer.from(
      Object.entries(fields)
        .map(([name, value]) => `${name}=${escapeText(value)}`)
        .join('&'),
    );
  const report = (count: number) =>
    form({
      art: '40',
      lat: String(5_480_000 + count),
      lon: '410000',
      datum: '2.5.2024',
      bereich: 'oeffentlich',
      bemerkung: 'Zeuge',
    });
  const credentials = form({ loginname: account.loginname, password: account.sha1 });
  const begin = Math.floor(Date.now() / 1000) % 50_000;

  const questions: {
    name: string;
    method: string;
    path: string;
    status: number;
    isOwn?: true;
    body?: (count: number) => Buffer;
    says?: string;
  }[] = [
    { name: 'newest page', method: 'GET', path: '/api/v2/sichtbeobachtungen?limit=20', status: 200 },
    { name: 'box', method: 'GET', path: '/api/v2/sichtbeobachtungen?bbox=400000,5480000,440000,5560000&limit=50', status: 200 },
    { name: 'detail', method: 'GET', path: `/api/v2/sichtbeobachtungen/${record}`, status: 200 },
    { name: 'login', method: 'POST', path: '/api/v2/login', status: 200, body: () => credentials, says: '"token"' },
    { name: 'report', method: 'POST', path: '/api/v2/sichtbeobachtungen', status: 201, isOwn: true, body: report },
    { name: 'live', method: 'GET', path: '/health/live', status: 200 },
  ];
  for (let count = 0; ; count++) {
    const question = questions[count % questions.length] as (typeof questions)[number];
    const body = question.body?.(begin + count);
    const bytes = encodeRequest({
      method: question.method,
      target: question.path,
      headers: [
        ['Host', 'localhost'],
        ['Connection', 'close'],
        ...credentialsOf(question.isOwn ? account : null),
        ...(body ? [['Content-Type', 'application/x-www-form-urlencoded'] as const] : []),
      ],
      ...(body && { body }),
    });
    lag.reset();
    const outcome = await fire(port, { bytes, methods: [question.method], patienceMs }, never, address);
    const [answer] = readAnswers(outcome.received, [question.method], outcome.by === 'closed').answers;
    const ms = outcome.end - outcome.begin;
    const isExpected = answer?.status === question.status && answer.body.toString().includes(question.says ?? '');
    const testimony: Testimony = { name: question.name, status: answer?.status ?? null, isExpected, ms, ownLagMs: lag.max / 1e6 };
    parentPort?.postMessage(testimony);
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, everyMs - ms)));
  }
}

if (!isMainThread && workerData?.record !== undefined) void testify(workerData as Task);
