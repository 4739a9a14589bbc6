/** The hosts that a listener on this machine, or a cloud's metadata service, could be reached under, in every spelling. */
export function hostileHosts(): string[] {
  const addresses: readonly (readonly [number, number, number, number])[] = [
    [127, 0, 0, 1],
    [127, 1, 2, 3],
    [0, 0, 0, 0],
    [10, 0, 0, 1],
    [172, 16, 0, 1],
    [172, 31, 255, 254],
    [192, 168, 1, 1],
    [169, 254, 169, 254],
    [100, 64, 0, 1],
    [100, 100, 100, 200],
    [168, 63, 129, 16],
    [198, 18, 0, 1],
    [224, 0, 0, 1],
    [255, 255, 255, 255],
  ]
  const v6 = [
    '::1',
    '::',
    '0:0:0:0:0:0:0:1',
    '::0001',
    'fe80::1',
    'fec0::1',
    'fc00::1',
    'fd00:ec2::254',
    'ff02::1',
    '2001:db8::1',
    '2001::1',
    '100::1',
  ].map((address) => `[${address}]`)
  return [
    ...addresses.flatMap((address) => spellings(address)),
    ...v6,
    'localhost',
    'LOCALHOST',
    'localhost.',
    'ip6-localhost',
  ]
}

function spellings([a, b, c, d]: readonly [number, number, number, number]): string[] {
  const whole = ((a << 24) | (b << 16) | (c << 8) | d) >>> 0
  const hex = (n: number): string => n.toString(16)
  const high = hex((a << 8) | b)
  const low = hex((c << 8) | d)
  const dotted = `${a}.${b}.${c}.${d}`
  const wide = (text: string): string =>
    text.replace(/[0-9]/g, (digit) => String.fromCodePoint(0xff10 + Number(digit)))
  const circled = (text: string): string =>
    text.replace(/[0-9]/g, (digit) =>
      String.fromCodePoint(digit === '0' ? 0x24ea : 0x2460 + Number(digit) - 1),
    )
  return [
    dotted,
    `${dotted}.`,
    String(whole),
    `0x${hex(whole)}`,
    `0X${hex(whole).toUpperCase()}`,
    `0${whole.toString(8)}`,
    `0x${hex(a)}.0x${hex(b)}.0x${hex(c)}.0x${hex(d)}`,
    `0${a.toString(8)}.0${b.toString(8)}.0${c.toString(8)}.0${d.toString(8)}`,
    `${a}.${b}.${(c << 8) | d}`,
    `${a}.${(b << 16) | (c << 8) | d}`,
    `0x${hex(a)}.${b}.0${c.toString(8)}.${d}`,
    wide(dotted),
    circled(dotted),
    dotted.replaceAll('.', '。'),
    dotted.replaceAll('.', '%2e'),
    `[::ffff:${dotted}]`,
    `[::ffff:${high}:${low}]`,
    `[0:0:0:0:0:ffff:${high}:${low}]`,
    `[::${dotted}]`,
    `[::${high}:${low}]`,
    `[::ffff:0:${high}:${low}]`,
    `[64:ff9b::${high}:${low}]`,
    `[64:ff9b:1::${high}:${low}]`,
    `[2002:${high}:${low}::1]`,
    `[2001:0:${high}:${low}::]`,
  ]
}
