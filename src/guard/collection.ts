// Whether a collection of features is all that its server has: each kind of server has a name of its own for that.

/** Members that count features, and those that say that there are more; in lower case, without underscores. */
const counts = ['numbermatched', 'numberreturned', 'totalfeatures', 'totalcount', 'total', 'count', 'matched'];
const flags = ['exceededtransferlimit', 'hasmore'];

/**
 * What a FeatureCollection lacks by its own words, as the end of a German sentence; null where it says nothing of the kind.
 * @param held features that it holds
 */
export function describePart(collection: Record<string, unknown>, held: number): string | null {
  const more = (name: string) => `nur ${held} Features: sie sagt selbst, dass es mehr gibt (${name})`;
  // Some servers keep what isn't GeoJSON in `properties`.
  for (const [name, value] of [...Object.entries(collection), ...Object.entries(toObject(collection.properties))]) {
    const plain = name.toLowerCase().replaceAll('_', '');
    const total = typeof value === 'string' ? Number(value) : value;
    if (counts.includes(plain) && typeof total === 'number' && total > held) return `nur ${held} von ${total} Features`;
    if (flags.includes(plain) && value === true) return more(name);
  }
  const { next, links, _links } = collection;
  return next || hasNext(links) || hasNext(_links) ? more('next') : null;
}

function hasNext(links: unknown): boolean {
  if (Array.isArray(links)) return links.some((link) => toObject(link).rel === 'next');
  return Boolean(toObject(links).next);
}

const toObject = (value: unknown): Record<string, unknown> => (typeof value === 'object' && value !== null ? { ...value } : {});
