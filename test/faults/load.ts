// More clients than the service has connections to its database (S5.3), from many networks, each of which asks for everything.
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { askOnce, type Question, type Sample } from './probe.ts';

export interface LoadTask {
  port: number;
  seconds: number;
  /** Clients that ask one after the other. */
  clients: number;
  /** Number of the first request; each makes another one. */
  first: number;
  /** Who reports. */
  account: { loginname: string; token: string };
  /** Who log in: many, because a login that was refused on its way counts as a wrong password. */
  people: readonly { loginname: string; sha1: string }[];
}

const networks = 20;
// Clients that were refused don't ask again in the same moment.
const pauseMs = 100;

/** Asks for so long, and waits for the answers. */
export async function applyLoad(task: LoadTask): Promise<Sample[]> {
  const agents = Array.from({ length: networks }, (_, n) => new Agent({ keepAlive: true, localAddress: `127.4.0.${n + 1}` }));
  const samples: Sample[] = [];
  let next = task.first;
  const until = performance.now() + task.seconds * 1000;
  const client = async (n: number) => {
    const agent = agents[n % networks] as Agent;
    while (performance.now() < until) {
      const sample = await askOnce(task.port, { ...makeQuestion(next++, task), agent });
      samples.push(sample);
      if (sample.status === null || sample.status >= 400) await sleep(pauseMs);
    }
  };
  await Promise.all(Array.from({ length: task.clients }, (_, n) => client(n)));
  for (const agent of agents) agent.destroy();
  return samples;
}

/** What portals ask: pages, boxes, exports, logins, reports. The number makes each another one, so that none is answered from memory. */
function makeQuestion(number: number, { people, account }: LoadTask): Question {
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
      const { loginname = '', sha1 = '' } = people[Math.floor(number / 8) % people.length] ?? {};
      return { path: `${api}/login`, body: new URLSearchParams({ loginname, password: sha1 }).toString() };
    }
    default: {
      const place = { lat: String(5_470_000 + Math.floor(number / 60_000)), lon: String(380_000 + (number % 60_000)) };
      return {
        path: `${api}/sichtbeobachtungen`,
        body: new URLSearchParams({ art: '40', ...place, bemerkung: 'Last' }).toString(),
        headers: { 'X-Auth-User': account.loginname, 'X-Auth-Token': account.token },
      };
    }
  }
}
