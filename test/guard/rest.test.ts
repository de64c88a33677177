// Beside photos: who does nothing else than log in, or ask the database, leaves the cores to them; and who sends photos all the time is
// no reason for others to rest.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { callBounds, embeddedCallBounds } from '../../src/db/client.ts';
import { limitRuns } from '../../src/guard/admission.ts';
import { makeFile, spareFiles } from '../../src/guard/files.ts';
import { hashPassword, sha1OfPlain } from '../../src/guard/password.ts';
import { runInScope } from '../../src/guard/request.ts';
import {
  embeddedRest,
  longestRest,
  makeEmbeddedRests,
  makePartRests,
  partRest,
  restAfter,
  restFactor,
  restOfService,
  spareWork,
} from '../../src/guard/rest.ts';

const sha1 = sha1OfPlain('geheim');

/** While somebody who seldom sends photos has one made. */
async function besidePhoto<T>(
  run: () => Promise<T>,
  network = `photographer ${Math.random()}`,
  account: number | null = null,
): Promise<T> {
  const { promise: end, resolve } = Promise.withResolvers<void>();
  const photo = runInScope(network, (scope) => {
    if (account !== null) scope.identify(account);
    return makeFile(() => end);
  });
  try {
    return await run();
  } finally {
    resolve();
    await photo;
  }
}

/** How many of so many runs of a network, as this name, rest. */
const countRests = (network: string, name: string, runs: number, ranMs: number) =>
  runInScope(network, async (scope) => {
    scope.countFor(`passwords ${name}`);
    return Array.from({ length: runs }, () => restAfter(ranMs)).filter((ms) => ms > 0).length;
  });

const aSecond = spareWork.atOnceMs;

/** Passwords that a network gets hashed until it has had enough of them or of time. */
async function hashAWhile(enough: number, maxMs: number): Promise<{ count: number; ms: number; firstMs: number }> {
  const begin = performance.now();
  const since = () => performance.now() - begin;
  let count = 0;
  let firstMs = 0;
  const lane = async () => {
    while (count < enough && since() < maxMs) {
      await runInScope('hashing', () => hashPassword(sha1));
      firstMs ||= since();
      count++;
    }
  };
  await Promise.all([lane(), lane()]);
  return { count, ms: since(), firstMs };
}

it('S3.7 one network gets far fewer passwords hashed while there are photos, and none later for it', async () => {
  // By their number: where others have the cores, there are few in a second.
  const enough = 24;
  const compare = async () => {
    const alone = await hashAWhile(enough, 60_000);
    await sleep(300);
    const beside = await besidePhoto(() => hashAWhile(enough, alone.ms));
    await sleep(500);
    return beside;
  };
  let seen = await compare();
  // Others may have had the cores while it hashed alone.
  for (let again = 0; again < 3 && seen.count >= 0.7 * enough; again++) seen = await compare();
  assert.ok(seen.count < 0.7 * enough, `${seen.count} of ${enough}`);
  assert.ok(seen.firstMs < 1000, `${seen.firstMs} ms`);
});

it('S5.3 work counts no longer than it takes for a network or a name that has little of it, nor while there are no photos', async () => {
  await besidePhoto(async () => {
    assert.equal(await countRests('office', 'anna', 11, aSecond / 10.5), 0);
    assert.equal(await countRests('office', 'bert', 5, 30), 5);
    assert.equal(await countRests('home', 'anna', 5, 30), 5, 'one account from many networks');
    assert.equal(await countRests('home', 'carl', 5, 30), 0);
    await runInScope('office', async () => assert.equal(restAfter(100), restFactor * 100));
    // One run a second would be spare by their number, and half of a core.
    await sleep(1000);
    await runInScope('office', async () => assert.equal(restAfter(500), longestRest.factor * 500 + longestRest.plusMs));
  });
  assert.equal(await countRests('office', 'bert', 5, 30), 0);
});

it('S3.7 what was done before the first photo counts beside it, short runs too', async () => {
  assert.equal(await countRests('flood', 'dora', 600, 2), 0);
  assert.equal(await besidePhoto(() => countRests('flood', 'dora', 5, 2)), 5);
});

it('S3.7 the service itself rests beside photos with what may be done later', async () => {
  assert.equal(restOfService(10), 0);
  assert.equal(await besidePhoto(async () => restOfService(10)), 10 * restFactor);
});

it('S3.7 what goes on for long rests after each of its parts beside photos, but not for ever', async (t) => {
  const now = performance.now.bind(performance);
  let ahead = 0;
  t.mock.method(performance, 'now', () => now() + ahead);
  const waits: number[] = [];
  const goOn = (partMs: readonly number[]) =>
    runInScope('archive', async () => {
      const rest = makePartRests();
      waits.length = 0;
      for (const ms of partMs) {
        ahead += ms;
        const began = now();
        await rest();
        waits.push(Math.round(now() - began));
      }
    });
  await goOn([aSecond, 100, 100]);
  assert.ok(Math.max(...waits) < 50, `${waits} without photos`);
  await besidePhoto(() => goOn([aSecond, partRest.spareMs / 2, aSecond]));
  assert.ok(Math.max(...waits) < 50, `${waits} of little`);
  await goOn([2 * partRest.spareMs]);
  await besidePhoto(() => goOn([100, 10, aSecond]));
  const [first = 0, short = 0, slow = 0] = waits;
  assert.ok(first >= restFactor * 100 - 5 && first < restFactor * 100 + 200, `${waits}`);
  assert.ok(short < 20, `${waits}`);
  assert.ok(slow >= partRest.atMostMs - 10 && slow < partRest.atMostMs + 500, `${waits}`);
});

it('S5.3 nobody rests for a network that has photos made all the time, until it has paused', async (t) => {
  const now = performance.now.bind(performance);
  let ahead = 0;
  t.mock.method(performance, 'now', () => now() + ahead);
  const worker = () => countRests('worker', 'emil', 3, aSecond);
  await worker();
  assert.equal(await besidePhoto(worker, 'school'), 3);
  for (let n = 0; n < 6; n++) {
    await runInScope('school', () =>
      makeFile(async () => {
        ahead += spareFiles.atOnceMs / 5;
      }),
    );
    await worker();
  }
  assert.equal(await besidePhoto(worker, 'school'), 0);
  assert.equal(await besidePhoto(() => besidePhoto(worker), 'school'), 3, 'but for others');
  ahead += spareFiles.atOnceMs / 2;
  await worker();
  assert.equal(await besidePhoto(worker, 'school'), 3);
});

it('S5.3 who asks for statements of half a second one after the other is not refused beside photos', async () => {
  const run = limitRuns({ slots: 6, share: 4, ...callBounds, restMs: restAfter });
  await runInScope('reader', async () => restAfter(2 * aSecond));
  await besidePhoto(async () => {
    for (let n = 0; n < 5; n++) await runInScope('reader', () => run(() => sleep(600)));
  });
});

it('S3.7 a network that has had its share has an eighth as many statements at work beside photos', async () => {
  const run = limitRuns({ slots: 6, share: 4, queue: 100, waitMs: 20_000, restMs: restAfter });
  let [running, most, ended] = [0, 0, 0];
  const work = () =>
    runInScope('one', () =>
      run(async () => {
        most = Math.max(most, ++running);
        await sleep(20);
        running--;
        ended++;
      }),
    );
  for (let n = 0; n < 60; n++) await work();
  await besidePhoto(async () => {
    const begin = performance.now();
    [most, ended] = [0, 0];
    await Promise.all(Array.from({ length: 40 }, work));
    const atATime = (ended * 20) / (performance.now() - begin);
    assert.equal(most, 4, 'at first');
    assert.ok(atATime < 0.75, `${atATime} at a time`);
  });
});

it('S3.7 a network or an account has no second to spare, and half of its places, while a photo of its own is made', async () => {
  const run = limitRuns({ slots: 6, share: 4, queue: 100, waitMs: 20_000, restMs: restAfter });
  const atOnce = async (network: string) => {
    let [running, most] = [0, 0];
    const work = () =>
      runInScope(network, async (scope) => {
        scope.identify(41);
        await run(async () => {
          most = Math.max(most, ++running);
          await sleep(20);
          running--;
        });
      });
    await Promise.all(Array.from({ length: 10 }, work));
    // Until what it did counts no longer, also where the machine took twice as long for it.
    await sleep(3 * restFactor * 20);
    return most;
  };
  assert.equal(await besidePhoto(() => atOnce('at home'), 'somebody else'), 4);
  assert.equal(await besidePhoto(() => atOnce('on the way'), 'on the way'), 2);
  assert.equal(await besidePhoto(() => atOnce('at home'), 'elsewhere', 41), 2, 'one account from many networks');
  assert.equal(await countRests('rested', 'hans', 1, 30), 0);
  assert.equal(await besidePhoto(() => countRests('rested', 'hans', 3, 30), 'rested'), 3);
});

it('S5.3 a statement of the embedded database rests for as long as it took itself, not for what it stood behind', async (t) => {
  let now = performance.now();
  t.mock.method(performance, 'now', () => now);
  const restMs = makeEmbeddedRests();
  /** What rests of a statement that is answered so long after the last one and ran since `ranMs` ago. */
  const answer = (afterMs: number, ranMs: number) => {
    now += afterMs;
    return runInScope('embedded', async () => restMs(ranMs));
  };
  const { fromMs, atMostMs } = embeddedRest;
  assert.equal(await answer(2 * aSecond, 2 * aSecond), 0, 'one that has a second to spare rests');
  assert.equal(await answer(fromMs, fromMs), fromMs);
  // Asked at the same time as the one before, and answered right after it.
  assert.equal(await answer(0, 3 * fromMs), 0);
  assert.equal(await answer(fromMs - 1, 3 * fromMs), 0);
  // Asked long after all of them.
  assert.equal(await answer(aSecond, 1), 0);
  assert.equal(await answer(3 * atMostMs, 3 * atMostMs), atMostMs);
});

it('S5.3 on the embedded database a network has one statement at a time, and none while a long one rests; others find a place', async () => {
  const limited = limitRuns({ slots: 6, ...embeddedCallBounds, waitMs: 10_000, restMs: makeEmbeddedRests() });
  // One after the other, as they came.
  let turn = Promise.resolve();
  const ask = (network: string, ms: number) =>
    runInScope(network, () =>
      limited(() => {
        turn = turn.then(() => sleep(ms));
        return turn;
      }),
    );
  await ask('long lists', aSecond + 200);
  const longMs = 3 * embeddedRest.fromMs;
  const begin = performance.now();
  const long = Array.from({ length: 6 }, () => ask('long lists', longMs));
  await long[0];
  // Three of them, as a login.
  const asked = performance.now();
  for (let i = 0; i < 3; i++) await ask('login', 1);
  const waited = performance.now() - asked;
  await long[1];
  assert.ok(performance.now() - begin >= 3 * longMs - 10, 'the second one began before the first had rested');
  assert.ok(waited < longMs, `${waited} ms`);
  await Promise.all(long);
});
