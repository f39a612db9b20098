import { closeRecords } from './records.svelte.ts';

const channel = new BroadcastChannel('parley.replaced');

/** All stored data was replaced or deleted: what the tabs of this browser show is outdated. They are loaded again. */
export function reloadTabs(): void {
  channel.postMessage('');
  reload();
}

/** Loads this tab again when another one has replaced the data. */
export function followReplacedData(): () => void {
  channel.onmessage = () => reload();
  return () => {
    channel.onmessage = null;
  };
}

function reload(): void {
  closeRecords();
  location.reload();
}
