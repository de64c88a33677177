// The one thing of a photo's metadata that is used before all of it is thrown away: how the camera was held.

const header = 'Exif\0\0';
const orientationTag = 0x0112;
/** Bytes of an entry of a directory: tag, type, count, value. */
const entryBytes = 12;
/** Type 3 is a 16-bit number, type 4 a 32-bit one, which some programs write instead. */
const short = 3;
const long = 4;

/**
 * Reads the orientation from an EXIF segment.
 *   segment  content of an APP1 segment, without its marker and length
 * returns    1 to 8 as EXIF numbers them, null when the segment is of another kind or says nothing usable; never throws
 */
export function readOrientation(segment: Uint8Array): number | null {
  if (String.fromCharCode(...segment.subarray(0, header.length)) !== header) return null;
  const tiff = new DataView(segment.buffer, segment.byteOffset + header.length, segment.byteLength - header.length);
  if (tiff.byteLength < 8) return null;
  const order = tiff.getUint16(0);
  if (order !== 0x4949 && order !== 0x4d4d) return null;
  const little = order === 0x4949;
  if (tiff.getUint16(2, little) !== 42) return null;

  const directory = tiff.getUint32(4, little);
  if (directory + 2 > tiff.byteLength) return null;
  const entries = Math.min(tiff.getUint16(directory, little), Math.floor((tiff.byteLength - directory - 2) / entryBytes));
  for (let index = 0; index < entries; index++) {
    const entry = directory + 2 + index * entryBytes;
    if (tiff.getUint16(entry, little) !== orientationTag) continue;
    const type = tiff.getUint16(entry + 2, little);
    if (type !== short && type !== long) return null;
    const value = type === short ? tiff.getUint16(entry + 8, little) : tiff.getUint32(entry + 8, little);
    return value >= 1 && value <= 8 ? value : null;
  }
  return null;
}
