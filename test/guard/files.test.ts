// The order of photos: who sends few of them does not stand beside who sends them all the time.
import assert from 'node:assert/strict';
import { beforeEach, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { limitRuns } from '../../src/guard/admission.ts';
import { bringFile, fileOrder, giveWay, makeFile } from '../../src/guard/files.ts';
import { runInScope } from '../../src/guard/request.ts';

// Whose files were made in the test before is there a moment longer.
beforeEach(() => sleep(300));

/** A clock that can be put forward. */
function moveTime(t: TestContext): (ms: number) => void {
  const now = performance.now.bind(performance);
  let ahead = 0;
  t.mock.method(performance, 'now', () => now() + ahead);
  return (ms) => {
    ahead += ms;
  };
}

// Wherever this runs.
giveWay.cores = 2;

const limit = (slots = 2, share = 1) => limitRuns({ slots, share, queue: 100, waitMs: 60_000, order: fileOrder });

const asSender = <T>(network: string, account: number | null, run: () => Promise<T>): Promise<T> =>
  runInScope(network, (scope) => {
    if (account !== null) scope.identify(account);
    return run();
  });

/** A file that is made until it is told to end; what it was told meanwhile. */
function beginFile(inTurn: ReturnType<typeof limit>, network: string, account: number | null = null, pausedMs = 0) {
  const { promise: end, resolve } = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const told: boolean[] = [];
  const work = async () => {
    begun.resolve();
    await end;
  };
  const done = asSender(network, account, () =>
    bringFile(() => inTurn(() => makeFile(work, { hold: (isHeld) => void told.push(isHeld), pausedMs: () => pausedMs }))),
  );
  const endIt = () => {
    resolve();
    return done;
  };
  return { begun: begun.promise, told, end: endIt };
}

/** Has so many milliseconds of files made. */
const spend = (move: (ms: number) => void, ms: number, network: string, account: number | null = null) =>
  asSender(network, account, () => makeFile(async () => move(ms)));

const isBegun = ({ begun }: { begun: Promise<void> }) => Promise.race([begun.then(() => true), sleep(500).then(() => false)]);

for (const [what, network, account] of [
  ['a network', 'sends all the time', null],
  ['an account from many networks', 'the next one', 7001],
] as const) {
  it(`S3.7 ${what} that had many photos made begins none beside others, but one in half a minute`, async (t) => {
    const move = moveTime(t);
    const inTurn = limit();
    await spend(move, 20_000, account === null ? network : 'the first one', account);
    const before = beginFile(inTurn, network, account);
    assert.ok(await isBegun(before), 'nobody else is there');
    await before.end();
    const few = beginFile(inTurn, `few beside ${network}`);
    await few.begun;
    const many = beginFile(inTurn, network, account);
    assert.ok(!(await isBegun(many)));
    const other = beginFile(inTurn, `other beside ${network}`);
    assert.ok(await isBegun(other), 'who had none made does not wait');
    await other.end();
    // What others had made grows meanwhile, but less than half as much.
    move(giveWay.oneInSeconds * 500);
    await spend(move, giveWay.oneInSeconds * 500, 'somebody');
    await many.begun;
    const next = beginFile(inTurn, network, account);
    await many.end();
    assert.ok(!(await isBegun(next)), 'one only');
    await few.end();
    await next.begun;
    await next.end();
  });
}

it('S3.7 photos of senders that had about as many made, or few, stand beside each other', async (t) => {
  const move = moveTime(t);
  const inTurn = limit();
  await spend(move, 20_000, 'office');
  await spend(move, 20_000 / giveWay.times + 1000, 'school');
  await spend(move, giveWay.fromMs / 2, 'home');
  for (const [first, second] of [
    ['school', 'office'],
    ['new', 'home'],
  ] as const) {
    const one = beginFile(inTurn, first);
    const two = beginFile(inTurn, second);
    assert.ok((await isBegun(one)) && (await isBegun(two)), second);
    await Promise.all([one.end(), two.end()]);
  }
});

it('S3.7 a photo under way pauses for one of somebody who had few made, and goes on after the last of these', async (t) => {
  const move = moveTime(t);
  const inTurn = limit();
  await spend(move, 20_000, 'pauses');
  const many = beginFile(inTurn, 'pauses');
  await many.begun;
  assert.deepEqual(many.told, []);
  for (let i = 0; i < 4; i++) {
    const few = beginFile(inTurn, 'sends one by one');
    await few.begun;
    await sleep(150);
    assert.deepEqual([many.told, few.told], [[true], []]);
    await few.end();
  }
  await sleep(500);
  assert.deepEqual(many.told, [true, false]);
  await many.end();
});

it('S3.7 a photo pauses no longer than its time, whoever comes then', async (t) => {
  const move = moveTime(t);
  const inTurn = limit();
  await spend(move, 20_000, 'long');
  const long = beginFile(inTurn, 'long');
  await long.begun;
  const few = beginFile(inTurn, 'comes later');
  await few.begun;
  assert.deepEqual(long.told, [true]);
  move(giveWay.heldMs);
  await sleep(300);
  assert.deepEqual(long.told, [true, false]);
  await few.end();
  const other = beginFile(inTurn, 'comes last');
  await other.begun;
  await sleep(300);
  assert.deepEqual(long.told, [true, false]);
  await Promise.all([long.end(), other.end()]);
});

it('S3.7 what a request had made itself is not what its sender had before', async (t) => {
  const move = moveTime(t);
  const inTurn = limit();
  await spend(move, 2 * giveWay.fromMs, 'just began');
  const other = beginFile(inTurn, 'just began');
  await other.begun;
  await asSender('sends four', null, async () => {
    for (let i = 0; i < 4; i++)
      await bringFile(() =>
        inTurn(() =>
          makeFile(async () => {
            await sleep(150);
            assert.equal(other.told.at(-1), true, `beside photo ${i}`);
            move(giveWay.heldMs / 5);
          }),
        ),
      );
  });
  await other.end();
});

it('S3.7 a pause does not count as time of the photo', async (t) => {
  const move = moveTime(t);
  const inTurn = limit();
  await spend(move, 20_000, 'held');
  await spend(move, 12_000, 'more than half');
  const held = beginFile(inTurn, 'held', null, giveWay.heldMs / 2);
  await held.begun;
  const few = beginFile(inTurn, 'had none');
  await few.begun;
  assert.deepEqual(held.told, [true]);
  move(giveWay.heldMs / 2);
  await Promise.all([few.end(), held.end()]);
  // About 18 s of one and 11 of the other are left; with the pause it would be 28.
  await sleep(300);
  const half = beginFile(inTurn, 'more than half');
  const again = beginFile(inTurn, 'held');
  assert.ok((await isBegun(half)) && (await isBegun(again)));
  assert.deepEqual(again.told, []);
  await Promise.all([half.end(), again.end()]);
});

it('S3.7 who sends files that are refused at once is soon no lesser one', async (t) => {
  const move = moveTime(t);
  const inTurn = limit();
  await spend(move, 20_000, 'sent many');
  const refuse = () =>
    runInScope('sends nonsense', () => bringFile(() => inTurn(() => makeFile(() => Promise.reject(new Error('no JPEG')))))).catch(
      () => {},
    );
  const first = beginFile(inTurn, 'sent many');
  await first.begun;
  await first.end();
  await refuse();
  const held = beginFile(inTurn, 'sent many');
  for (let n = 0; n < 5; n++) await refuse();
  assert.ok(!(await Promise.race([held.begun.then(() => true), sleep(150).then(() => false)])));
  for (let n = 0; n < 60; n++) await refuse();
  assert.ok(await isBegun(held));
  await held.end();
});

it('S3.7 of three that wait for the half minute one begins', async (t) => {
  const move = moveTime(t);
  const inTurn = limit(4, 3);
  await spend(move, 20_000, 'three at once');
  const few = beginFile(inTurn, 'beside three');
  await few.begun;
  const three = Array.from({ length: 3 }, () => beginFile(inTurn, 'three at once'));
  const begun = await Promise.all(three.map(isBegun));
  assert.deepEqual(begun, [true, false, false]);
  assert.deepEqual(three[0]?.told, [], 'it does not pause: nobody would have its place');
  await few.end();
  await Promise.all(three.map((file) => file.end()));
});
