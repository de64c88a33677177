// Which server answers a read.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ReadServer, readFrom, silentMs } from '../../src/guard/reads.ts';
import { type RequestScope, runInScope } from '../../src/guard/request.ts';

type Client = ((what: TemplateStringsArray) => Promise<string>) & { begin(run: () => unknown): Promise<unknown> };

class Failure extends Error {
  readonly code: string;
  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

/** A server that says its name, or fails with what it is given. */
class Server implements ReadServer<Client> {
  fails: string | null = null;
  isUsed = true;
  hangs: Promise<void> | null = null;
  heard: number | null = null;
  asked = 0;
  readonly name: string;
  readonly client: Client;
  constructor(name: string) {
    this.name = name;
    const ask = async () => {
      this.asked++;
      await new Promise((resolve) => setImmediate(resolve));
      await this.hangs;
      if (this.fails !== null) throw new Failure(this.fails);
      return this.name;
    };
    this.client = Object.assign(() => ask(), { begin: async (run: () => unknown) => [await ask(), await run()] });
  }
  mayRead(): boolean {
    return this.isUsed;
  }
  heardAt(): number {
    return this.heard ?? performance.now();
  }
}

function setUp({ replicas = 2, isPrimaryAway = false } = {}) {
  const primary = new Server('primary');
  if (isPrimaryAway) primary.fails = 'ECONNREFUSED';
  const all = Array.from({ length: replicas }, (_, index) => new Server(`replica ${index + 1}`));
  const ways = readFrom(primary.client, { all, isPrimaryAway: () => isPrimaryAway });
  const request = <T>(run: (read: () => Promise<string>, scope: RequestScope) => Promise<T>) =>
    runInScope('192.0.2.1', (scope) => run(() => ways.reads`select`, scope));
  return { primary, all: all as [Server, Server], ...ways, request };
}

describe('a read', () => {
  it('P3.3 of a request goes to one server, and of the next one to another', async () => {
    const { request, counts } = setUp();
    const served = await Promise.all([1, 2, 3, 4].map(() => request(async (read) => [await read(), await read(), await read()])));
    for (const [first, ...more] of served) assert.deepEqual(new Set(more), new Set([first]));
    assert.deepEqual(Object.fromEntries(counts), { primary: 0, 'replica 1': 6, 'replica 2': 6 });
  });

  it('goes to the one with the least to do', async () => {
    const { request } = setUp({ replicas: 3 });
    const busy = await request(async (read) => {
      const going = read();
      const others = await Promise.all([request((other) => other()), request((other) => other())]);
      return [await going, ...others];
    });
    assert.equal(new Set(busy).size, 3);
  });

  it('P3.3 of an account, or of the service itself, goes to the primary', async () => {
    const { reads, request } = setUp();
    const own = await request(async (read, scope) => {
      const before = await read();
      scope.identify(1);
      return [before, await read()];
    });
    assert.match(own[0] ?? '', /replica/);
    assert.equal(own[1], 'primary');
    assert.equal(await reads`select`, 'primary');
  });

  it('goes past what is left out, and to the primary where all are', async () => {
    const { all, request } = setUp();
    all[0].isUsed = false;
    for (let turn = 0; turn < 4; turn++) assert.equal(await request((read) => read()), 'replica 2');
    all[1].isUsed = false;
    assert.equal(await request((read) => read()), 'primary');
  });

  const failures = ['CONNECTION_CLOSED', 'ECONNREFUSED', '40001', '57P01', '25006', '53300', '42883', 'NEUBE', 'VERLF', 'NFUND'];
  for (const code of failures)
    it(`goes to the primary, and stays there, when a replica fails with ${code}`, async () => {
      const { all, request, primary } = setUp({ replicas: 1 });
      const answers = await request(async (read) => {
        const first = await read();
        all[0].fails = code;
        const second = await read();
        all[0].fails = null;
        return [first, second, await read()];
      });
      assert.deepEqual(answers, ['replica 1', 'primary', 'primary']);
      assert.equal(primary.asked, 2);
    });

  for (const code of ['57014', 'OVERLOADED', '22023', 'WERTB'])
    it(`fails with ${code} where the replica says so`, async () => {
      const { all, request, primary } = setUp({ replicas: 1 });
      all[0].fails = code;
      await assert.rejects(
        request((read) => read()),
        { code },
      );
      assert.equal(primary.asked, 0);
    });

  it('P3.1 says of a request that several servers answered that it is so', async () => {
    const { all, reads, isMixed, apart, primary } = setUp({ replicas: 1 });
    const mixed = (run: () => Promise<unknown>) =>
      runInScope('192.0.2.1', async () => {
        await run();
        return isMixed();
      });
    assert.equal(await mixed(() => reads`select`.then(() => reads`select`)), false);
    assert.equal(await mixed(() => apart(primary.client)`select`), false);
    assert.equal(await mixed(() => reads`select`.then(() => apart(primary.client)`select`)), true);
    const fall = async () => {
      await reads`select`;
      all[0].fails = 'NFUND';
      await reads`select`;
      all[0].fails = null;
    };
    assert.equal(await mixed(fall), true);
    all[0].fails = 'CONNECTION_CLOSED';
    assert.equal(await mixed(() => reads`select`.then(() => reads`select`)), false);
  });

  it('S5.3 goes past one that is not heard of, and what waits there goes on elsewhere; not past one that takes long', async () => {
    const { all, request } = setUp();
    const { promise, resolve } = Promise.withResolvers<void>();
    for (const server of all) server.hangs = promise;
    const waiting = [request((read) => read()), request((read) => read())];
    all[0].heard = performance.now();
    await sleep(1.5 * silentMs);
    assert.equal(await Promise.race(waiting), 'primary');
    all[1].hangs = null;
    const later = await Promise.all([1, 2, 3, 4].map(() => request((read) => read())));
    assert.deepEqual(new Set(later), new Set(['replica 2']));
    resolve();
    assert.deepEqual(new Set(await Promise.all(waiting)), new Set(['primary', 'replica 2']));
  });

  it('is repeated as a transaction too', async () => {
    const { all, reads } = setUp({ replicas: 1 });
    all[0].fails = 'CONNECTION_CLOSED';
    const answer = await runInScope('192.0.2.1', () => reads.begin(() => 'ran') as Promise<unknown>);
    assert.deepEqual(answer, ['primary', 'ran']);
  });
});

describe('while the primary is away, a read', () => {
  it('S5.2 goes to another replica, unless an earlier one would then be newer', async () => {
    const { all, request, reads } = setUp({ isPrimaryAway: true });
    all[0].fails = 'CONNECTION_CLOSED';
    for (let turn = 0; turn < 4; turn++) assert.equal(await request((read) => read()), 'replica 2');
    all[0].fails = null;
    const later = request(async (read) => {
      const first = await read();
      for (const server of all) if (server.name === first) server.fails = 'CONNECTION_CLOSED';
      return read();
    });
    await assert.rejects(later, { code: 'ECONNREFUSED' });
    for (const server of all) server.fails = null;
    assert.match(await reads`select`, /replica/);
  });

  it('ends where all fail, each asked once', async () => {
    const { all, request } = setUp({ isPrimaryAway: true });
    for (const server of all) server.fails = 'CONNECTION_CLOSED';
    await assert.rejects(
      request((read) => read()),
      { code: 'ECONNREFUSED' },
    );
    assert.deepEqual(
      all.map(({ asked }) => asked),
      [1, 1],
    );
  });

  it('of what there is not is not found, and of a place in the feed that is unknown is nothing said', async () => {
    const { all, request } = setUp({ replicas: 1, isPrimaryAway: true });
    all[0].fails = 'NFUND';
    await assert.rejects(
      request((read) => read()),
      { code: 'NFUND' },
    );
    all[0].fails = 'NEUBE';
    await assert.rejects(
      request((read) => read()),
      { code: 'ECONNREFUSED' },
    );
  });
});

describe('while nobody knows yet that the primary is away, a read', () => {
  it('S5.2 that a replica fails as well goes to another one; one that is the first of its answer only', async () => {
    const { all, primary, request } = setUp();
    primary.fails = 'ECONNREFUSED';
    all[0].fails = 'CONNECTION_CLOSED';
    for (let turn = 0; turn < 4; turn++) assert.equal(await request((read) => read()), 'replica 2');
    for (const server of all) server.isUsed = false;
    const lost = request(async (read) => {
      primary.fails = null;
      const first = await read();
      for (const server of all) server.isUsed = true;
      primary.fails = '57P01';
      return [first, await read()];
    });
    await assert.rejects(lost, { code: '57P01' });
    const own = request((read, scope) => {
      scope.identify(1);
      return read();
    });
    await assert.rejects(own, { code: '57P01' });
  });

  it('ends where all fail', async () => {
    const { all, primary, request } = setUp();
    for (const server of [...all, primary]) server.fails = 'CONNECTION_CLOSED';
    await assert.rejects(
      request((read) => read()),
      { code: 'CONNECTION_CLOSED' },
    );
    assert.ok(all.every(({ asked }) => asked === 1));
  });

  it('takes what the primary says of the request itself', async () => {
    const { all, primary, request } = setUp();
    for (const code of ['NEUBE', 'NFUND', '57014', 'OVERLOADED']) {
      primary.fails = code;
      for (const server of all) server.isUsed = false;
      const asked = request((read) => {
        const answer = read();
        for (const server of all) server.isUsed = true;
        return answer;
      });
      await assert.rejects(asked, { code });
    }
    assert.deepEqual(
      all.map((server) => server.asked),
      [0, 0],
    );
  });
});
