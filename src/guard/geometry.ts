// How knotted the rings of a boundary are. Repairing one whose lines cross takes more than the square of the number of crossings,
// and nothing ends a database that is busy with it (26 s for a star of 200 corners): so they are counted first.

/** Crossings that are repaired: a few bow-ties. */
export const maxCrossings = 200;
/** Pairs of lines that are looked at: a second. */
const maxPairs = 50_000_000;
/** Lines of one geometry. */
const maxLines = 1_000_000;

type Line = Record<'x1' | 'y1' | 'x2' | 'y2' | 'minX' | 'maxX' | 'minY' | 'maxY', number>;

/**
 * How often the lines of a geometry cross; infinite as soon as they are more than may be repaired, or too many to be compared.
 * @param coordinates of a GeoJSON Polygon or MultiPolygon, or a ring of one, as they came
 */
export function countCrossings(coordinates: unknown): number {
  const lines = listLines(coordinates);
  if (lines.length > maxLines) return Number.POSITIVE_INFINITY;
  lines.sort((a, b) => a.minX - b.minX);
  let crossings = 0;
  let pairs = 0;
  // Lines that the sweep from west to east may still meet.
  const open: Line[] = [];
  for (const line of lines) {
    pairs += open.length;
    if (pairs > maxPairs) return Number.POSITIVE_INFINITY;
    let kept = 0;
    for (const other of open) {
      if (other.maxX < line.minX) continue;
      open[kept++] = other;
      if (other.minY <= line.maxY && line.minY <= other.maxY && cross(line, other) && ++crossings > maxCrossings)
        return Number.POSITIVE_INFINITY;
    }
    open.length = kept;
    open.push(line);
  }
  return crossings;
}

// Lists of lists of positions, as deep as a MultiPolygon; whatever else is in it is the database's to refuse.
function listLines(coordinates: unknown, depth = 0, lines: Line[] = []): Line[] {
  if (!Array.isArray(coordinates) || depth > 3 || lines.length > maxLines) return lines;
  if (!isPosition(coordinates[0])) {
    for (const part of coordinates) listLines(part, depth + 1, lines);
    return lines;
  }
  for (let at = 1; at < coordinates.length; at++) {
    const [from, to] = [coordinates[at - 1], coordinates[at]];
    if (!isPosition(from) || !isPosition(to)) continue;
    const [x1, y1] = from;
    const [x2, y2] = to;
    lines.push({
      x1,
      y1,
      x2,
      y2,
      minX: Math.min(x1, x2),
      maxX: Math.max(x1, x2),
      minY: Math.min(y1, y2),
      maxY: Math.max(y1, y2),
    });
  }
  return lines;
}

function isPosition(value: unknown): value is [number, number] {
  return Array.isArray(value) && typeof value[0] === 'number' && typeof value[1] === 'number';
}

// Properly: not where one only begins on the other, as the lines of a ring do on their neighbours.
function cross(a: Line, b: Line): boolean {
  const side = (l: Line, x: number, y: number) => Math.sign((l.x2 - l.x1) * (y - l.y1) - (l.y2 - l.y1) * (x - l.x1));
  return side(a, b.x1, b.y1) * side(a, b.x2, b.y2) < 0 && side(b, a.x1, a.y1) * side(b, a.x2, a.y2) < 0;
}
