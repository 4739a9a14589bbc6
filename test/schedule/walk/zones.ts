/** Thirty zones, each with the first of the ten years to walk, chosen for their clock changes. */
export const walkedZones: readonly (readonly [zone: string, firstYear: number])[] = [
  ['UTC', 2020],
  ['America/New_York', 2020],
  ['Europe/London', 2020],
  ['Europe/Dublin', 2020], // summer time is standard, winter negative
  ['Europe/Berlin', 1976], // the return of summer time
  ['Australia/Lord_Howe', 2020], // half an hour
  ['Antarctica/Troll', 2020], // two hours
  ['Atlantic/Azores', 2020], // midnight gap
  ['America/Havana', 2020], // midnight gap
  ['Asia/Beirut', 2020], // midnight gap
  ['America/Santiago', 2020], // midnight gap, southern
  ['America/Asuncion', 2016], // midnight gap, given up
  ['Africa/Casablanca', 2020], // back for Ramadan
  ['Africa/Cairo', 2014], // Thursday midnight, twice a year with Ramadan, then none, then again
  ['Asia/Gaza', 2036], // a week of winter between two summers
  ['Asia/Tehran', 2015], // midnight gap, then given up
  ['Asia/Amman', 2018], // permanent summer
  ['Pacific/Apia', 2005], // 2011-12-30 does not exist
  ['Pacific/Kwajalein', 1990], // a day that does not exist in 1993
  ['Pacific/Chatham', 2020], // 12:45
  ['Pacific/Auckland', 2020],
  ['Australia/Sydney', 2020],
  ['America/Sao_Paulo', 2010], // midnight gap, southern
  ['America/Recife', 1995], // a week of summer in 2000
  ['America/St_Johns', 2004], // changes at one minute past midnight
  ['America/Caracas', 2006], // half an hour for good, and back
  ['Asia/Pyongyang', 2012], // half an hour back for good, and forth
  ['Europe/Moscow', 2008], // permanent summer, then permanent winter
  ['Asia/Kathmandu', 2020], // +05:45
  ['Asia/Calcutta', 2020], // an alias
]
