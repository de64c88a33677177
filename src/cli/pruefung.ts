// Commands about automatic release (O6.14).
import { listPruefLauf, undoPruefLauf } from '../db/pruefung.ts';
import { type Command, countOf, progress } from './command.ts';
import { UsageError } from './line.ts';

const toTime = (instant: Date) => instant.toLocaleString('de-DE', { timeZone: 'Europe/Berlin' });

export const pruefungCommands: Record<string, Command> = {
  async 'pruefung runs'(database) {
    const runs = await listPruefLauf(database.sql);
    if (runs.length === 0) console.log('Bisher wurde nichts automatisch freigegeben.');
    for (const { id, zeitpunkt, anzahl, zurueckgenommen } of runs) {
      const undone = zurueckgenommen === null ? '' : `, zurückgenommen ${toTime(zurueckgenommen)}`;
      console.log(`${id}: ${toTime(zeitpunkt)}, ${countOf(anzahl, 'Beobachtung', 'Beobachtungen')} freigegeben${undone}`);
    }
  },

  async 'pruefung undo'(database, _values, [number]) {
    if (!/^[1-9]\d{0,8}$/.test(number ?? ''))
      throw new UsageError('Die Nummer des Laufs fehlt: pruefung undo 17 (pruefung runs nennt sie)');
    const done = await undoPruefLauf(database.sql, Number(number), (count) =>
      progress.step('zurückgenommen', count, count),
    ).catch((error: { code?: string }) => {
      if (error.code === 'NFUND') throw new UsageError(`Einen Lauf ${number} gibt es nicht: pruefung runs nennt alle.`);
      throw error;
    });
    progress.end();
    console.log(`${countOf(done, 'Beobachtung ist', 'Beobachtungen sind')} wieder in Prüfung.`);
  },
};
