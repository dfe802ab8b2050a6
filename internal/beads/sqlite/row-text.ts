/** The statements of a table whose rows are objects with a field per column, given each field's column. */
export interface RowText {
  /** Up to the table's name; what restricts it follows. */
  readonly select: string;
  /** Of everything but the number that the table gives out. */
  readonly insert: string;
  /** `column = @field, ...` of the fields that a patch has. */
  sets(patch: object): string;
}

export function rowText(table: string, columns: Readonly<Record<string, string>>): RowText {
  const names = Object.entries(columns);
  const inserted = names.filter(([field]) => field !== 'num');
  return {
    select: `SELECT ${names.map(([field, column]) => `${column} AS "${field}"`).join(', ')} FROM ${table}`,
    insert: `INSERT INTO ${table} (${inserted.map(([, column]) => column).join(', ')})
  VALUES (${inserted.map(([field]) => `@${field}`).join(', ')})`,
    sets: (patch) =>
      names
        .filter(([field]) => field in patch)
        .map(([field, column]) => `${column} = @${field}`)
        .join(', '),
  };
}
