// What functions of the database return that always return one row.

/** The row. */
export async function oneRow<T>(rows: PromiseLike<readonly T[]>): Promise<T> {
  const [row] = await rows;
  if (row === undefined) throw new Error('a function of the database returned no row');
  return row;
}

/** The value of its first column. */
export async function oneValue<T>(rows: PromiseLike<readonly object[]>): Promise<T> {
  return Object.values(await oneRow(rows))[0];
}
