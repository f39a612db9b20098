import '@fontsource-variable/inter/wght.css';
import './ui/tokens.css';
import './ui/base.css';
import { mount } from 'svelte';
import App from './app/App.svelte';

const target = document.getElementById('app');
if (target) mount(App, { target });
// Once loaded, the pages open without a server, so that what is kept in the browser can always be read.
if ('serviceWorker' in navigator && import.meta.env.PROD)
  navigator.serviceWorker.register('./offline.js').catch(() => {});
