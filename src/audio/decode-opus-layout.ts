import { unreadable } from './unreadable.ts';

/** More are decoded into nothing but memory. */
const mostChannels = 8;

export interface OpusLayout {
  readonly channels: number;
  readonly streamCount: number;
  readonly coupledStreamCount: number;
  readonly channelMappingTable: number[];
  readonly preSkip: number;
}

/** How the channels lie in the packets, by the head that every Opus stream has; the usual way where it is missing. */
export function opusLayout(head: Uint8Array, usualChannels: number): OpusLayout {
  const channels = head[9] || usualChannels;
  if (channels > mostChannels) throw unreadable(`this file says that it has ${channels} channels`);
  const preSkip = (head[10] ?? 0) | ((head[11] ?? 0) << 8);
  const [family = 0, streamCount = 1, coupledStreamCount = 0] = head.subarray(18, 21);
  if (family !== 0 && head.length >= 21 + channels) {
    const channelMappingTable = [...head.subarray(21, 21 + channels)];
    return { channels, streamCount, coupledStreamCount, channelMappingTable, preSkip };
  }
  const isStereo = channels >= 2;
  return {
    channels: isStereo ? 2 : 1,
    streamCount: 1,
    coupledStreamCount: isStereo ? 1 : 0,
    channelMappingTable: isStereo ? [0, 1] : [0],
    preSkip,
  };
}
