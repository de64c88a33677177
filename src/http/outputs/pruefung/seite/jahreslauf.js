// The curve of the year of a species, with the day of a record.
const months = ['Jan', 'Feb', 'Mär', 'Apr', 'Mai', 'Jun', 'Jul', 'Aug', 'Sep', 'Okt', 'Nov', 'Dez'];
const slot = 10;
const height = 90;

/** @param {string} name @param {Record<string, string | number>} attributes @param {string} text */
function draw(name, attributes, text = '') {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, String(value));
  element.textContent = text;
  return element;
}

/** @param {{ meldungen: number }[]} drittel 36 thirds of months @param {string} datum DD.MM.YYYY */
export function drawJahreslauf(drittel, datum) {
  const [day = 1, month = 1] = datum.split('.').map(Number);
  const counts = drittel.map(({ meldungen }) => meldungen);
  const most = Math.max(1, ...counts);
  const all = counts.reduce((sum, count) => sum + count, 0);
  const third = 3 * (month - 1) + Math.min(2, Math.floor((day - 1) / 10));
  // Days 21 to 31 share the last third.
  const x = slot * third + (slot * (day - 1 - 10 * (third % 3))) / (third % 3 === 2 ? 11 : 10);
  const label = `${all} Meldungen der Art, davon ${counts[third]} im selben Monatsdrittel; dieser Datensatz ist vom ${day}. ${months[month - 1]}.`;
  const svg = draw('svg', { viewBox: `0 0 ${36 * slot} ${height + 20}`, role: 'img', 'aria-label': label });
  for (const [at, count] of counts.entries()) {
    const tall = (count / most) * (height - 12);
    svg.append(draw('rect', { x: at * slot + 1, y: height - tall, width: slot - 2, height: tall, class: 'balken' }));
  }
  for (const [at, name] of months.entries())
    svg.append(draw('text', { x: (3 * at + 1.5) * slot, y: height + 14, 'text-anchor': 'middle' }, name));
  svg.append(
    draw('line', { x1: 0, x2: 36 * slot, y1: height, y2: height, class: 'achse' }),
    draw('line', { x1: x, x2: x, y1: 0, y2: height, class: 'tag' }),
    draw('circle', { cx: x, cy: 4, r: 4, class: 'tag' }),
  );
  return { svg, label };
}
