import { persistedState } from '../saved/persisted-state.svelte.ts';
import { hashOf } from '../ui/navigation.svelte.ts';
import { notify } from '../ui/notices.svelte.ts';
import { isWorthNotice, type Work } from './rules.ts';
import { texts } from './texts.ts';

/** What this person has chosen in this browser. */
export const notifications = persistedState<{ enabled: boolean; offered: boolean }>('parley.notifications', {
  enabled: false,
  offered: false,
});

/** Whether this page can show any: browsers have them only on secure pages, and iOS only for installed ones. */
export const canNotify = (): boolean => 'Notification' in globalThis && 'serviceWorker' in navigator;

let unseen = 0;

/** Work of the page has ended. Nobody looks at a hidden page, so that a notification tells it, if they are switched on. */
export async function workDone(work: Work): Promise<void> {
  if (!isWorthNotice(work, { hidden: document.hidden, now: Date.now() })) return;
  unseen += 1;
  await navigator.setAppBadge?.(unseen).catch(() => {});
  document.addEventListener('visibilitychange', seen);
  if (!canNotify()) return;
  if (notifications.enabled && Notification.permission === 'granted') await show(work);
}

async function show({ title, route, kind }: Work): Promise<void> {
  const registration = await navigator.serviceWorker.ready;
  const hash = hashOf(route);
  const file = (name: string): string => new URL(name, registration.scope).href;
  const images = { icon: file('icon-192.png'), badge: file('icon-badge-96.png') };
  await registration.showNotification(title, { body: texts[kind], tag: hash, data: { hash }, ...images });
}

/** Back on the page: its notifications have done their work. The first time, this is the moment at which they make sense. */
async function seen(): Promise<void> {
  if (document.hidden) return;
  document.removeEventListener('visibilitychange', seen);
  unseen = 0;
  await navigator.clearAppBadge?.().catch(() => {});
  if (!canNotify()) return;
  const registration = await navigator.serviceWorker.ready;
  for (const notification of await registration.getNotifications()) notification.close();
  if (notifications.offered || Notification.permission !== 'default') return;
  notifications.offered = true;
  notify(texts.offer, { stays: true, action: { label: texts.accept, run: () => void setNotifications(true) } });
}

/** Asks the browser, which shows its question only after a click. */
export async function setNotifications(enabled: boolean): Promise<void> {
  notifications.offered = true;
  notifications.enabled = enabled && (await Notification.requestPermission()) === 'granted';
  if (enabled && !notifications.enabled) notify(texts.blocked, { kind: 'bad' });
}
