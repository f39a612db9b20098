/** One sample, between -1 and 1. */
export type ReadSample = (view: DataView, place: number) => number;

const kinds = { integer: 1, float: 3, aLaw: 6, muLaw: 7 } as const;

/** How a sample of this kind is read; undefined for kinds that are more than one number behind the other. */
export function sampleReader(kind: number, bits: number, isBig: boolean): ReadSample | undefined {
  const little = !isBig;
  switch (kind) {
    case kinds.integer:
      return integerReader(bits, little);
    case kinds.float:
      if (bits === 32) return (view, place) => finite(view.getFloat32(place, little));
      return bits === 64 ? (view, place) => finite(view.getFloat64(place, little)) : undefined;
    case kinds.aLaw:
      return bits === 8 ? (view, place) => aLaw(view.getUint8(place)) : undefined;
    case kinds.muLaw:
      return bits === 8 ? (view, place) => muLaw(view.getUint8(place)) : undefined;
    default:
      return undefined;
  }
}

function integerReader(bits: number, little: boolean): ReadSample | undefined {
  switch (Math.ceil(bits / 8)) {
    case 1:
      return (view, place) => (view.getUint8(place) - 128) / 128;
    case 2:
      return (view, place) => view.getInt16(place, little) / 32_768;
    case 3:
      return (view, place) => {
        const high = view.getInt8(place + (little ? 2 : 0));
        const low = view.getUint8(place + (little ? 0 : 2));
        return ((high << 16) | (view.getUint8(place + 1) << 8) | low) / 8_388_608;
      };
    case 4:
      return (view, place) => view.getInt32(place, little) / 2_147_483_648;
    default:
      return undefined;
  }
}

/** One sample that is no number would make all that is computed from it none. */
function finite(sample: number): number {
  return Number.isFinite(sample) ? sample : 0;
}

/** The two curves of telephones: a sign, an exponent of three bits and four bits of the rest. */
function muLaw(byte: number): number {
  const value = ~byte & 0xff;
  const size = ((((value & 0x0f) << 3) + 0x84) << ((value & 0x70) >> 4)) - 0x84;
  return ((value & 0x80) !== 0 ? -size : size) / 32_768;
}

function aLaw(byte: number): number {
  const value = byte ^ 0x55;
  const exponent = (value & 0x70) >> 4;
  const rest = (value & 0x0f) << 4;
  const size = exponent === 0 ? rest + 8 : (rest + 0x108) << (exponent - 1);
  return ((value & 0x80) !== 0 ? size : -size) / 32_768;
}
