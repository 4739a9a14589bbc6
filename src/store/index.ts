/** The store contract, and the stores that come with Carillon. */
export type * from './store.js'
