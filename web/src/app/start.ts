import '@fontsource-variable/inter/wght.css';
import '@fontsource-variable/jetbrains-mono/wght.css';
import '../ui/tokens.css';
import '../ui/base.css';
import { type Component, mount } from 'svelte';

/** Shows a page that has nothing but itself: all but that of the chats. */
export function start(page: Component): void {
  const target = document.getElementById('app');
  if (target) mount(page, { target });
}
