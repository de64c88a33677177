// The boxes of MP4: a length, a type of four characters, and what is inside.
import { readBig } from './bytes.ts';
import { AudioRefusedError } from './refusal.ts';

/** A box of the tree; offsets in the file. */
export interface Box {
  type: string;
  start: number;
  /** Behind size and type. */
  content: number;
  end: number;
}

/**
 * The boxes of a file, which have to fill it exactly: one of a wrong length would swallow parts of others. Only the last may
 * be without a length.
 * @throws AudioRefusedError `damaged` when they don't
 */
export function listTopBoxes(bytes: Buffer): Box[] {
  const boxes: Box[] = [];
  for (let at = 0; at < bytes.length; at = boxes.at(-1)?.end ?? bytes.length) {
    const isOpen = readBig(bytes, at, 4) === 0 && at + 8 <= bytes.length;
    const type = bytes.toString('latin1', at + 4, at + 8);
    boxes.push(isOpen ? { type, start: at, content: at + 8, end: bytes.length } : readBox(bytes, at, bytes.length));
  }
  return boxes;
}

/**
 * The boxes between two offsets.
 * @throws AudioRefusedError `damaged` when they don't fill the place exactly
 */
export function listBoxes(bytes: Buffer, start: number, end: number): Box[] {
  const boxes: Box[] = [];
  for (let at = start; at < end; at = boxes.at(-1)?.end ?? end) boxes.push(readBox(bytes, at, end));
  return boxes;
}

/** The only child of these types. */
export function requireChild(bytes: Buffer, parent: Box, ...types: string[]): Box {
  const [child, second] = listBoxes(bytes, parent.content, parent.end).filter(({ type }) => types.includes(type));
  if (!child || second) throw new AudioRefusedError('damaged', `not one ${types.join(' or ')}`);
  return child;
}

/**
 * The box that stands here.
 * @param limit offset that it may reach
 * @throws AudioRefusedError `damaged` when it reaches further
 */
export function readBox(bytes: Buffer, start: number, limit: number): Box {
  const short = readBig(bytes, start, 4);
  const type = bytes.toString('latin1', start + 4, start + 8);
  const isLong = short === 1;
  if (isLong && readBig(bytes, start + 8, 4) !== 0) throw new AudioRefusedError('damaged', 'a box of gigabytes');
  const size = isLong ? readBig(bytes, start + 12, 4) : short;
  const content = start + (isLong ? 16 : 8);
  if (start + size < content || start + size > limit) throw new AudioRefusedError('damaged', 'a box does not fit');
  return { type, start, content, end: start + size };
}
