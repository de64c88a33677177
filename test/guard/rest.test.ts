// Beside photos: who does nothing but log in, or ask for what the database computes long, leaves the cores to them.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { limitRuns } from '../../src/guard/admission.ts';
import { hashPassword, sha1OfPlain } from '../../src/guard/password.ts';
import { runInScope } from '../../src/guard/request.ts';
import { makeRest, restFactor, spareWork, statementRestFromMs } from '../../src/guard/rest.ts';

const sha1 = sha1OfPlain('geheim');

/** Passwords that a network gets hashed in a while, and how long the first took. */
async function hashAWhile(): Promise<{ count: number; firstMs: number }> {
  const begin = performance.now();
  let count = 0;
  let firstMs = 0;
  const lane = async () => {
    while (performance.now() - begin < 1500) {
      await runInScope('one', () => hashPassword(sha1));
      firstMs ||= performance.now() - begin;
      count++;
    }
  };
  await Promise.all([lane(), lane()]);
  return { count, firstMs };
}

it('S3.7 one network gets far fewer passwords hashed while there are photos, and none later for it', async () => {
  const compare = async () => {
    const alone = await hashAWhile();
    await sleep(300);
    let endPhoto = () => {};
    const photo = limitRuns({ name: 'photos', slots: 1, queue: 1, waitMs: 1000 })(
      () => new Promise<void>((resolve) => (endPhoto = resolve)),
    );
    // The first ones are an office's.
    const begin = performance.now();
    while (performance.now() - begin < spareWork.atOnceMs) await runInScope('one', () => hashPassword(sha1));
    const beside = await hashAWhile();
    endPhoto();
    await photo;
    return { ...beside, ratio: beside.count / alone.count };
  };
  let seen = await compare();
  // Others may have had the cores while it hashed alone.
  for (let again = 0; again < 3 && seen.ratio >= 0.7; again++) seen = await compare();
  assert.ok(seen.ratio < 0.7, `${seen.ratio} of the passwords without photos`);
  assert.ok(seen.firstMs < 1000, `${seen.firstMs} ms`);
});

it('S5.3 hashes count no longer than they take for a network or a name that has few of them, nor while there are no photos', async () => {
  let isBusy = true;
  const rest = makeRest(() => isBusy);
  const countRests = (network: string, name: string, hashes: number, ranMs = 30) =>
    runInScope(network, async (scope) => {
      scope.countFor(`passwords ${name}`);
      return Array.from({ length: hashes }, () => rest(ranMs)).filter((ms) => ms > 0).length;
    });
  assert.equal(await countRests('office', 'anna', 11, spareWork.atOnceMs / 10.5), 0);
  assert.equal(await countRests('office', 'bert', 5), 5);
  assert.equal(await countRests('home', 'anna', 5), 5, 'one account from many networks');
  assert.equal(await countRests('home', 'carl', 5), 0);
  isBusy = false;
  assert.equal(await countRests('office', 'bert', 5), 0);
});

it('S3.7 statements of one network leave most of the cores to photos, short ones rest never', async () => {
  const rest = makeRest(() => true, statementRestFromMs);
  await runInScope('map', async () => {
    for (let n = 0; n < 1000; n++) assert.equal(rest(statementRestFromMs - 1), 0);
    for (let n = 0; n < 11; n++) assert.equal(rest(spareWork.atOnceMs / 10.5), 0);
    assert.equal(rest(100), restFactor * 100);
    // One a second would be spare by its number, and half of a core.
    await sleep(1000);
    assert.equal(rest(500), restFactor * 500);
  });
  // With that, of four at a time one runs half of the time.
  const run = limitRuns({ slots: 6, share: 4, queue: 100, waitMs: 20_000, restMs: makeRest(() => true) });
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
  for (let n = 0; n < spareWork.atOnceMs / 20; n++) await work();
  const begin = performance.now();
  [most, ended] = [0, 0];
  await Promise.all(Array.from({ length: 40 }, work));
  const atATime = (ended * 20) / (performance.now() - begin);
  assert.equal(most, 4, 'at first');
  assert.ok(atATime < 0.8, `${atATime} at a time`);
});
