// The body of a request as it comes.
import type { Readable } from 'node:stream';
import { PortalError } from './portal-error.ts';

/**
 * Reads a body, and leaves to the server what it doesn't read of it: a client can be told what was wrong before it has sent all.
 * @throws PortalError 413 when it has more than `maxBytes`, 400 when it breaks off
 */
export async function* readBody(body: Readable, maxBytes: number): AsyncGenerator<Buffer> {
  // For good: a client may break off after its answer, which is no fault.
  body.on('error', () => {});
  let bytes = 0;
  try {
    for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw new PortalError('zu_gross');
      yield chunk;
    }
  } catch (error) {
    throw error instanceof PortalError ? error : new PortalError('ungueltige_anfrage');
  }
}
