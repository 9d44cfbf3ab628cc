# One target for each frame; what is older than its frame is made again.
frames := $(sort $(wildcard f1*))
all: $(frames:%=$(OUT)/%.sum) $(OUT)/all
$(OUT)/%.sum: %
	wc -c $< | tee $@
$(OUT)/all: $(frames)
	cat $? > $@
