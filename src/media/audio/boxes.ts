// The boxes of MP4: a length, a type of four characters, and what is inside.
import { hasText } from './bytes.ts';
import { AudioRefusedError } from './refusal.ts';

/** A box of the tree; offsets in the file. */
export interface Box {
  type: string;
  start: number;
  /** Behind size and type. */
  content: number;
  end: number;
}

/** The boxes of a file up to the first that does not fit into it. The last may be without a length, when it is media data. */
export function listTopBoxes(bytes: Buffer): Box[] {
  const boxes: Box[] = [];
  let at = 0;
  for (let box = findBox(bytes, at, bytes.length); box; box = findBox(bytes, at, bytes.length)) {
    boxes.push(box);
    at = box.end;
  }
  if (hasText(bytes, at, '\0\0\0\0mdat')) boxes.push({ type: 'mdat', start: at, content: at + 8, end: bytes.length });
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
  const box = findBox(bytes, start, limit);
  if (!box) throw new AudioRefusedError('damaged', 'a box does not fit');
  return box;
}

function findBox(bytes: Buffer, start: number, limit: number): Box | null {
  if (start + 8 > limit) return null;
  const short = bytes.readUInt32BE(start);
  const content = start + (short === 1 ? 16 : 8);
  if (content > limit) return null;
  const end = start + (short === 1 ? Number(bytes.readBigUInt64BE(start + 8)) : short);
  return end < content || end > limit ? null : { type: bytes.toString('latin1', start + 4, start + 8), start, content, end };
}
