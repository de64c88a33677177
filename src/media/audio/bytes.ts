// Reading what strangers wrote: behind the end of a file there is a refusal, never a RangeError or a silent zero.
import { AudioRefusedError } from './refusal.ts';

/** An unsigned number of 1 to 6 bytes, highest byte first. */
export function readBig(bytes: Buffer, at: number, size: number): number {
  requireBytes(bytes, at, size);
  return bytes.readUIntBE(at, size);
}

/** An unsigned number of 1 to 6 bytes, lowest byte first. */
export function readLittle(bytes: Buffer, at: number, size: number): number {
  requireBytes(bytes, at, size);
  return bytes.readUIntLE(at, size);
}

/** Whether these characters (Latin-1) stand here; false where the file ends before them. */
export function hasText(bytes: Buffer, at: number, text: string): boolean {
  return at >= 0 && bytes.toString('latin1', at, at + text.length) === text;
}

function requireBytes(bytes: Buffer, at: number, size: number): void {
  if (at < 0 || at + size > bytes.length) throw new AudioRefusedError('damaged', 'the file ends too early');
}
