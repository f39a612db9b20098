import '@fontsource-variable/inter/wght.css';
import './ui/tokens.css';
import './ui/base.css';
import { mount } from 'svelte';
import App from './app/App.svelte';

const target = document.getElementById('app');
if (target) mount(App, { target });
if (import.meta.env.PROD) void import('./app/install.svelte.ts').then(({ startInstalled }) => startInstalled());
