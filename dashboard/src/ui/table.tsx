import type { ComponentChildren, JSX } from 'preact'

export interface Column<Row> {
  readonly title: ComponentChildren
  /** The title as plain text, for the phone layout. */
  readonly label: string
  readonly cell: (row: Row) => ComponentChildren
  readonly isNumber?: boolean
  readonly class?: string
}

/**
 * A semantic table. On a phone its rows become cards; the roles are written out, because browsers drop those of a table
 * that is laid out as blocks.
 */
export function Table<Row>({
  label,
  columns,
  rows,
  keyOf,
}: {
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
}): JSX.Element {
  return (
    <div class="table-scroll" role="region" aria-label={label} tabIndex={0}>
      <table role="table" aria-label={label}>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ title, label: text, isNumber }) => (
              <th key={text} role="columnheader" scope="col" class={isNumber === true ? 'number' : ''}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <tr role="row" key={keyOf(row)}>
              {columns.map(({ label: text, cell, isNumber, class: name = '' }) => (
                <td
                  key={text}
                  role="cell"
                  data-label={text}
                  class={`${name} ${isNumber === true ? 'number' : ''}`}
                >
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
