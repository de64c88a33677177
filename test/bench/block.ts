// How long others wait for the process while it writes one large page as XML: the longest answer of the smallest request.
import { Agent, get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { medianOfNumbers } from './measure.ts';
import { startService } from './servers.ts';
import type { Figure, TaskContext } from './tasks.ts';

const rounds = 15;

export async function measureBlock({ databaseUrl }: TaskContext): Promise<Figure[]> {
  const service = await startService(databaseUrl, { ANSWER_CACHE_MB: '0' });
  const agent = new Agent({ keepAlive: true });
  const ask = (path: string) =>
    new Promise<void>((resolve, reject) => {
      // Not read as text: this process would feel it, and measure itself.
      get(service.url + path, { agent }, (response) => response.on('end', resolve).on('error', reject).resume()).on(
        'error',
        reject,
      );
    });
  const longest: number[] = [];
  // The first rounds compile and connect.
  for (let round = -3; round < rounds; round++) {
    let isMade = false;
    const made = ask('/api/v2/sichtbeobachtungen?limit=1000&format=xml').finally(() => {
      isMade = true;
    });
    let most = 0;
    while (!isMade) {
      const began = performance.now();
      await ask('/health/live');
      most = Math.max(most, performance.now() - began);
      await sleep(1);
    }
    await made;
    if (round >= 0) longest.push(most);
  }
  agent.destroy();
  await service.running.stop();
  return [{ what: 'others wait for an XML page of 1 000, at most', value: medianOfNumbers(longest), unit: 'ms' }];
}
