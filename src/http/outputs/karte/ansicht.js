// What is shown, in the address: whoever opens it sees the same.

/**
 * @typedef {{ z: number | null, lat: number | null, lon: number | null, art: number | null, von: number | null, bis: number | null }} Ansicht
 */

/** @returns {Ansicht} */
export function readAnsicht() {
  const parameters = new URLSearchParams(location.hash.slice(1));
  /** @param {string} name @param {number} min @param {number} max */
  const number = (name, min, max) => {
    const text = parameters.get(name);
    const value = text === null || text === '' ? Number.NaN : Number(text);
    return value >= min && value <= max ? value : null;
  };
  /** @param {string} name @param {number} max */
  const integer = (name, max) => {
    const value = number(name, 0, max);
    return Number.isInteger(value) ? value : null;
  };
  return {
    z: number('z', 0, 19),
    lat: number('lat', -85, 85),
    lon: number('lon', -180, 180),
    art: integer('art', 2147483647),
    von: integer('von', 9999),
    bis: integer('bis', 9999),
  };
}

/** Without what is not chosen. @param {Record<string, string | number | null | undefined>} values */
function toQuery(values) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(values))
    if (value !== null && value !== undefined) parameters.set(name, String(value));
  return String(parameters);
}

/** @param {Ansicht} ansicht */
export function writeAnsicht({ z, lat, lon, art, von, bis }) {
  const query = toQuery({ z: z?.toFixed(2), lat: lat?.toFixed(5), lon: lon?.toFixed(5), art, von, bis });
  // Not a step of its own in the browser's history: going back leaves the map.
  history.replaceState(null, '', `#${query}`);
}

/** The filter as the service's addresses have it. @param {Pick<Ansicht, 'art' | 'von' | 'bis'>} filter */
export const filterQuery = ({ art, von, bis }) => toQuery({ art, jahr_von: von, jahr_bis: bis });
