// The curve of the year as a drawing that a page can embed (O2.8): 320 units wide, so that it fits a phone.
/** A third of a month: days 1 to 10, 11 to 20, 21 to the end. */
export interface Drittel {
  monat: number;
  drittel: number;
  meldungen: number;
  stadien: Record<string, number>;
}

const width = 320;
const height = 200;
const plot = { left: 44, right: 312, top: 44, bottom: 158 };
const months = ['Jan', 'Feb', 'Mär', 'Apr', 'Mai', 'Jun', 'Jul', 'Aug', 'Sep', 'Okt', 'Nov', 'Dez'];
const longMonths = [
  ...['Januar', 'Februar', 'März', 'April', 'Mai', 'Juni', 'Juli', 'August', 'September', 'Oktober', 'November', 'Dezember'],
];
const colours = { bar: '#1b6b4a', text: '#1f2933', line: '#d5dbe1' };
const numbers = new Intl.NumberFormat('de-DE');

/**
 * Draws bars for the thirds of the months.
 * @param name of the species; null for all
 */
export function drawPhaenologie(thirds: readonly Drittel[], name: string | null): string {
  const most = Math.max(...thirds.map(({ meldungen }) => meldungen));
  const step = niceStep(most);
  const top = Math.max(step, Math.ceil(most / step) * step);
  const yOf = (count: number) => plot.bottom - (count / top) * (plot.bottom - plot.top);
  const slot = (plot.right - plot.left) / thirds.length;
  const ticks = Array.from({ length: Math.round(top / step) + 1 }, (_, index) => index * step);
  const grid = ticks.map((tick) => {
    const y = round(yOf(tick));
    return `<line x1="${plot.left}" x2="${plot.right}" y1="${y}" y2="${y}" stroke="${colours.line}"/><text x="${plot.left - 5}" y="${y + 3.5}" text-anchor="end">${numbers.format(tick)}</text>`;
  });
  const bars = thirds.map(({ meldungen }, index) => {
    if (meldungen === 0) return '';
    const y = round(yOf(meldungen));
    return `<rect x="${round(plot.left + index * slot + 0.6)}" y="${y}" width="${round(slot - 1.2)}" height="${round(plot.bottom - y)}" fill="${colours.bar}"/>`;
  });
  const labels = months.map(
    (month, index) =>
      `<text x="${round(plot.left + (3 * index + 1.5) * slot)}" y="${plot.bottom + 14}" text-anchor="middle">${month}</text>`,
  );
  const title = `${name === null ? '' : `${name}: `}Meldungen im Jahreslauf`;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="titel beschreibung" font-family="system-ui, sans-serif" font-size="9.5" fill="${colours.text}">
<title id="titel">${escapeXml(title)}</title>
<desc id="beschreibung">${escapeXml(describe(thirds, most))}</desc>
<rect width="${width}" height="${height}" fill="#ffffff"/>
<text x="8" y="16" font-size="12" font-weight="600">${escapeXml(shorten(name ?? 'Alle Arten', 42))}</text>
<text x="8" y="30">Meldungen im Jahreslauf</text>
${grid.join('\n')}
${bars.filter((bar) => bar !== '').join('\n')}
${labels.join('\n')}
<text x="${(plot.left + plot.right) / 2}" y="${height - 8}" text-anchor="middle">Monat (je drei Drittel)</text>
<text transform="translate(10 ${(plot.top + plot.bottom) / 2}) rotate(-90)" text-anchor="middle">Meldungen</text>
</svg>
`;
}

/** What the drawing shows, for those who can't see it. */
function describe(thirds: readonly Drittel[], most: number): string {
  const all = thirds.reduce((sum, { meldungen }) => sum + meldungen, 0);
  const peak = thirds.find(({ meldungen }) => meldungen === most);
  if (all === 0 || !peak) return 'Keine Meldungen.';
  const part = ['Anfang', 'Mitte', 'Ende'][peak.drittel - 1];
  return `${numbers.format(all)} Meldungen nach Monatsdritteln, die meisten (${numbers.format(most)}) ${part} ${longMonths[peak.monat - 1]}.`;
}

/** 1, 2 or 5 times a power of ten, so that at most five lines are drawn. */
function niceStep(most: number): number {
  const rough = Math.max(1, most / 4);
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10);
}

const round = (value: number) => Math.round(value * 100) / 100;
const shorten = (text: string, length: number) =>
  [...text].length > length ? `${[...text].slice(0, length - 1).join('')}…` : text;
const escapeXml = (text: string) => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
