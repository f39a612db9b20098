import '@fontsource-variable/inter/wght.css';
import '@fontsource-variable/jetbrains-mono/wght.css';
import '../look/tokens.css';
import '../look/base.css';
import { mount } from 'svelte';
import LauncherPage from './LauncherPage.svelte';

const target = document.getElementById('app');
if (target) mount(LauncherPage, { target });
