// The picture of a run: requests per second of the lists that are compared, next to what they are compared with.
import type { Side } from './cases.ts';
import { formatSize } from './report.ts';
import { formatNumber, listSizes, type Results } from './targets.ts';

const bars: Partial<Record<Side, string>> = {
  ceiling: 'PostgreSQL alone',
  again: 'service, answer kept',
  http: 'service, made anew',
  naive: 'naive service',
  postgraphile: 'PostGraphile',
};
const cases = { newest: 'newest page', species: 'one species', bbox10: '10 km box' };

const barHeight = 17;
const labelWidth = 160;
const numberWidth = 58;
const panel = { top: 62, height: Object.keys(bars).length * barHeight + 38, gap: 24 };

// Its own ground, because viewers in dark mode do not tell pictures theirs.
const style = `svg { font: 12px system-ui, sans-serif; --ground: #fff; --ink: #1f2328; --faint: #d1d9e0; --ceiling: #8c959f; --own: #1a7f37; --other: #bc7c2c }
@media (prefers-color-scheme: dark) { svg { --ground: #0d1117; --ink: #e6edf3; --faint: #30363d; --ceiling: #6e7681; --own: #3fb950; --other: #d29922 } }
text { fill: var(--ink) } .head { font-weight: 600 } .end { text-anchor: end } .middle { text-anchor: middle } line { stroke: var(--faint) }
.ground { fill: var(--ground) } .ceiling { fill: var(--ceiling) } .again, .http { fill: var(--own) } .naive, .postgraphile { fill: var(--other) }`;

/** As SVG: a column for each size, a row for each list, on one logarithmic scale. */
export function drawChart(results: Results): string {
  const sizes = listSizes(results);
  const rateOf = (size: number, name: string, side: string) =>
    results.entries.find((entry) => entry.size === size && entry.name === name)?.sides[side as Side]?.rate ?? Number.NaN;
  const rates = sizes.flatMap((size) =>
    Object.keys(cases).flatMap((name) => Object.keys(bars).map((side) => rateOf(size, name, side))),
  );
  // At least as far as the lists' usual rates; what is below one per second is a sliver.
  const decades = Math.max(4, Math.ceil(Math.log10(Math.max(1, ...rates.filter(Number.isFinite)))));
  const panelWidth = sizes.length > 2 ? 240 : 320;
  const barWidth = panelWidth - numberWidth;
  const lengthOf = (rate: number) => Math.max(2, (Math.log10(rate) / decades) * barWidth);
  const width = labelWidth + sizes.length * (panelWidth + panel.gap);
  const height = panel.top + Object.keys(cases).length * panel.height + 18;

  const parts = [
    `<rect class="ground" width="${width}" height="${height}" rx="6"/>`,
    `<text class="head" x="16" y="24">Requests per second, pages of 100 records; the scale is logarithmic</text>`,
  ];
  for (const [column, size] of sizes.entries()) {
    const left = labelWidth + column * (panelWidth + panel.gap);
    parts.push(`<text class="head" x="${left}" y="50">${formatSize(size)} sightings</text>`);
    for (let power = 0; power <= decades; power++) {
      const x = left + (power / decades) * barWidth;
      parts.push(`<line x1="${x}" x2="${x}" y1="${panel.top}" y2="${height - 24}"/>`);
      parts.push(`<text class="middle" x="${x}" y="${height - 8}">${formatNumber(10 ** power)}</text>`);
    }
    for (const [row, [name, title]] of Object.entries(cases).entries()) {
      const top = panel.top + row * panel.height + 22;
      if (column === 0) parts.push(`<text class="head end" x="${left - 10}" y="${top - 6}">${title}</text>`);
      for (const [at, [side, label]] of Object.entries(bars).entries()) {
        const y = top + at * barHeight;
        const rate = rateOf(size, name, side);
        if (column === 0) parts.push(`<text class="end" x="${left - 10}" y="${y + 12}">${label}</text>`);
        if (rate > 0)
          parts.push(`<rect class="${side}" x="${left}" y="${y}" width="${lengthOf(rate)}" height="${barHeight - 4}"/>`);
        const end = left + (rate > 0 ? lengthOf(rate) : 0) + 6;
        parts.push(`<text x="${end}" y="${y + 12}">${formatNumber(rate)}</text>`);
      }
    }
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>Requests per second of the service and of what it is compared with</title>
<style>${style}</style>
${parts.join('\n')}
</svg>
`;
}
