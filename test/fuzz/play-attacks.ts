// Every attack once more, with the witness asking meanwhile.
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Arms, attacks } from './attacks.ts';
import { keepBusy } from './busy.ts';
import { credentialsOf, encodeRequest } from './encode.ts';
import { startService } from './service.ts';
import { makeSite } from './site.ts';
import { fire } from './wire.ts';
import { startWitness, type Testimony } from './witness.ts';
import { exploreWorld } from './world.ts';

const attackMs = 6000;
const limitMs = 1000;

/**
 * Plays every attack and prints what the witness saw of it.
 * @returns whether the witness was refused, waited for over a second, or the process ended
 */
export async function playAttacks(isBusy: boolean): Promise<boolean> {
  const site = await makeSite();
  let hasEnded = false;
  const service = await startService(site.env, {
    ended: (how) => {
      hasEnded = true;
      console.log(`the process ended: ${how}`);
    },
    line: () => {},
  });
  const pid = service.pid();
  const world = await exploreWorld(site, service.port, new AbortController().signal);
  if (isBusy) keepBusy();
  const heard: Testimony[] = [];
  const witness = startWitness({ port: service.port, account: world.witness, record: world.frozenRecord }, (testimony) =>
    heard.push(testimony),
  );
  await sleep(2000);
  let isBad = false;
  const judge = (name: string) => {
    // Without the time in which the witness itself did not get to run.
    const worst = Math.max(0, ...heard.map(({ ms, ownLagMs }) => ms - ownLagMs));
    const refused = heard.filter(({ isExpected }) => !isExpected);
    isBad ||= worst > limitMs || refused.length > 0;
    const notes = refused.slice(0, 3).map((each) => `${each.name} ${each.status ?? 'no answer'}`);
    console.log(
      `${name.padEnd(76)} ${String(heard.length).padStart(4)} answers, worst ${worst.toFixed(0).padStart(5)} ms, ${refused.length} refused${notes.length > 0 ? ` (${notes.join(', ')})` : ''}`,
    );
    heard.length = 0;
  };
  judge('nothing');
  for (const { name, run } of attacks) {
    const ending = new AbortController();
    const arms: Arms = {
      site,
      signal: ending.signal,
      async send(parts, as = null, patienceMs = 20_000) {
        const method = parts.method ?? 'GET';
        const headers = [
          ...(parts.headers ?? [['Host', 'localhost'] as const]),
          ...credentialsOf(as),
          ['Connection', 'close'] as const,
        ];
        const bytes = encodeRequest({ ...parts, method, headers });
        const { received } = await fire(service.port, { bytes, methods: [method], patienceMs }, ending.signal);
        return received.toString('latin1');
      },
      open(bytes) {
        const socket = connect({ port: service.port, host: '127.0.0.1' });
        socket.on('error', () => {});
        socket.resume();
        void once(socket, 'connect').then(
          () => socket.write(bytes),
          () => {},
        );
        return socket;
      },
    };
    const end = setTimeout(() => ending.abort(), attackMs);
    await run(arms);
    clearTimeout(end);
    ending.abort();
    await sleep(500);
    judge(name);
  }
  await witness.stop();
  service.expectEnd();
  const isSame = !hasEnded && service.pid() === pid;
  console.log(isSame ? 'The process is the same.' : 'The process is another one.');
  return isBad || !isSame;
}
